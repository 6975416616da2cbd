package fold

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// empty makes the tables as they were in the beginning.
func (f *fixture) empty(t *testing.T, r fail) {
	for _, table := range []string{"held", "idle_ranges", "history", "task_counts", "share_counts", "end_counts", "hour_usage", "day_usage",
		"task_usage", "node_usage", "expected", "latest", "over_ranges", "kills", "moves", "paused_tasks", "steps",
		"claims", "claim_parties", "claim_jobs"} {
		if _, err := f.pool.Exec(t.Context(), "DELETE FROM "+table); err != nil {
			r.Fatal(err)
		}
	}
	const start = `UPDATE folded SET seq = 0, id = '00000000-0000-0000-0000-000000000000', at = 'epoch'; UPDATE rolled SET at = 'epoch'`
	if _, err := f.pool.Exec(t.Context(), start); err != nil {
		r.Fatal(err)
	}
	f.begin()
}

// drawn draws a log.
func drawn(r *rapid.T, f *fixture) *history {
	h := newHistory(f)
	r.Repeat(map[string]func(*rapid.T){"enqueue": h.enqueue, "enqueue again": h.enqueueAgain, "grant": h.grant,
		"grant one more": h.grant, "start": h.start, "revoke": h.revoke, "end": h.end, "end one more": h.end, "other": h.other, "close": h.close,
		"pause": h.pause, "kill": h.kill, "close what waits": h.closeWaiting, "place": h.place, "move": h.move, "claim": h.claimed, "unclaim": h.unclaimed})
	h.close(r)
	return h
}

// Whatever happened, and however it is cut into steps, the tables are what a look at each job says; and Compare agrees.
func TestTablesAreTheLog(t *testing.T) {
	f := newFixture(t)
	rapid.Check(t, func(r *rapid.T) {
		f.empty(t, r)
		h := drawn(r, f)
		for {
			got, err := f.Fold(t.Context(), rapid.IntRange(1, 9).Draw(r, "batches"))
			if err != nil || got.Odds > 0 {
				r.Fatal(got.Odd, err)
			}
			if got.Batches == 0 || rapid.Bool().Draw(r, "roll") {
				if err := f.RollNodes(t.Context()); err != nil {
					r.Fatal(err)
				}
			}
			if got.Batches == 0 {
				break
			}
		}
		if diff := differ(h.tables(), f.read(t)); diff != "" {
			r.Fatalf("want (-), got (+):\n%s", diff)
		}
		if found, err := f.Compare(t.Context()); err != nil || len(found) > 0 {
			r.Fatal(found, err)
		}
		h.feeds(t, r)
		h.starts(t, r)
		latest := map[Latest]entry.Entry{}
		if p, err := Load(t.Context(), f.pool, Sink{Entry: func(e entry.Entry) { latest[keyOf(e)] = e }, Claims: func(s *gate.Saved) {
			if diff := h.claimsDiffer(s); diff != "" {
				r.Fatalf("claims: want (-), got (+):\n%s", diff)
			}
		}}); err != nil || p.Seq != f.last.Seq {
			r.Fatal(p, err)
		}
		if diff := cmp.Diff(h.latest, latest, cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("latest: want (-), got (+):\n%s", diff)
		}
	})
}

func keyOf(e entry.Entry) Latest {
	l := Latest{Kind: entry.KindOf(e)}
	switch e := e.(type) {
	case entry.Reported:
		l.Key, l.Name = int64(e.Queue), e.Name
	case entry.Holed:
		l.Key = int64(e.Queue)
	case entry.Owed:
		l.Key, l.Name = int64(e.Share), e.Pool
	case entry.Stood:
		l.Name = e.Pool
	case entry.Shaped:
		l.Key = int64(e.Shape)
	case entry.Polled:
		l.Key = int64(e.Queue)
	}
	return l
}

// busy appends a log of n batches: jobs of two tasks that run for five batches each, every seventh attempt once more. People pause, kill
// and move some of them, and every tenth job holds a claim.
func (f *fixture) busy(t *testing.T, n int) {
	t.Helper()
	for i := range int64(n) {
		var entries []entry.Entry
		e := entry.Enqueued{Task: 1 + i%2, Share: 1, Low: 10*i + 1, High: 10*i + 10, Attempt: 1, User: "ann"}
		entries = append(entries, entry.Claimed{Claim: i + 1, Task: e.Task, Key: "k", Jobs: 1, Template: shares.ClaimTemplate{Name: "t", Node: true, Linger: time.Hour}},
			entry.Joined{Task: e.Task, Low: e.Low, High: e.Low, Claims: []int64{i + 1}}, e)
		for id := e.Low; id < e.High; id++ {
			entries = append(entries, entry.Granted{Job: id, Attempt: 1, Nonce: id, Task: e.Task, Share: 1, Queue: 1, Units: 1000, Pilot: "p", Node: "n"})
		}
		for id := e.Low - 50; id > 0 && id < e.High-50; id++ {
			end := entry.Ended{Job: id, Attempt: 1, Outcome: entry.Finished, Next: entry.Over}
			if id%7 == 0 {
				end.Outcome, end.Next = entry.Failed, entry.Again
			}
			entries = append(entries, end)
		}
		switch i % 10 {
		case 3:
			entries = append(entries, entry.Killed{Task: e.Task, Low: 1, High: e.High, Reason: "killed"})
		case 5:
			entries = append(entries, entry.Paused{Task: 3 - e.Task}, entry.Tick{Now: f.now})
		case 6:
			entries = append([]entry.Entry{entry.Resumed{Task: e.Task}}, entries...)
		case 7:
			entries = append(entries, entry.Moved{Task: e.Task, Low: 1, High: e.High, Share: 2, Running: true}, entry.Placed{Task: e.Task, Low: e.Low, High: e.High, Place: -1})
		}
		f.append(t, entries...)
		f.now = f.now.Add(time.Minute)
	}
}

// Of two daemons that fold the same log every batch is folded by one.
func TestTwoFolders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.busy(t, 60)
	var wg sync.WaitGroup
	var folded, raced [4]int
	for i := range folded {
		wg.Go(func() {
			folder := New(f.pool, f.log, siteOf)
			for {
				r, err := folder.Fold(t.Context(), 1+i)
				folded[i] += r.Batches
				switch {
				case errors.Is(err, ErrRaced):
					raced[i]++
				case err != nil:
					t.Error(err)
					return
				case folder.RollNodes(t.Context()) != nil:
					t.Error("nodes were not rolled up")
					return
				case r.Batches == 0:
					return
				}
			}
		})
	}
	wg.Wait()
	if sum := folded[0] + folded[1] + folded[2] + folded[3]; sum != 60 {
		t.Errorf("%v batches were folded, of 60; races lost: %v", folded, raced)
	}
	f.sound(t)
}

var errCrash = errors.New("crash")

// crashing is a database on which a transaction dies with its n-th call.
type crashing struct {
	DB
	calls int
}

func (c *crashing) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := c.DB.Begin(ctx)
	return &crashingTx{tx, c}, err
}

type crashingTx struct {
	pgx.Tx
	c *crashing
}

func (c *crashing) dies() bool {
	c.calls--
	return c.calls <= 0
}

func (x *crashingTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if x.c.dies() {
		return pgconn.CommandTag{}, errCrash
	}
	return x.Tx.Exec(ctx, sql, args...)
}

func (x *crashingTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if x.c.dies() {
		return nil, errCrash
	}
	return x.Tx.Query(ctx, sql, args...)
}

func (x *crashingTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if x.c.dies() {
		return 0, errCrash
	}
	return x.Tx.CopyFrom(ctx, table, columns, rows)
}

func (x *crashingTx) Commit(ctx context.Context) error {
	if x.c.dies() {
		return errCrash
	}
	return x.Tx.Commit(ctx)
}

// A crash at any call of a step leaves the tables as they were, and the next daemon goes on.
func TestCrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.busy(t, 20)
	if _, err := f.Fold(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	before, crashes := f.read(t), 0
	for n := 1; ; n++ {
		r, err := New(&crashing{f.pool, n}, f.log, siteOf).Fold(t.Context(), 8)
		if err == nil {
			if r.Batches != 8 {
				t.Fatalf("%d batches, want 8", r.Batches)
			}
			break
		}
		crashes++
		if p, _ := f.Position(t.Context()); !errors.Is(err, errCrash) || p.Seq != 12 {
			t.Fatalf("call %d: %v, folded up to %d", n, err, p.Seq)
		}
		if diff := differ(before, f.read(t)); diff != "" {
			t.Fatalf("call %d changed:\n%s", n, diff)
		}
	}
	if crashes < 6 {
		t.Errorf("a step has %d calls: which are not tried?", crashes)
	}
	f.sound(t)
}

// Compare names the table of whatever row is damaged.
func TestCompareFindsDamage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.append(t, entry.Shaped{}, entry.Expected{Share: 1, Shape: 3, Jobs: 7}, entry.Tick{Now: noon})
	f.busy(t, 20)
	f.append(t, entry.Paused{Task: 7}, entry.Killed{Task: 2, Low: 195, High: 200, Reason: "killed"})
	if odd := f.foldAll(t, 5); len(odd) > 0 {
		t.Fatal(odd)
	}
	if err := f.RollNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.sound(t)
	for damage, undo := range map[string]string{
		"UPDATE held SET nonce = nonce + 1 WHERE job = 165":                      "UPDATE held SET nonce = nonce - 1 WHERE job = 165",
		"UPDATE idle_ranges SET task = task + 1 WHERE high = 10":                 "UPDATE idle_ranges SET task = task - 1 WHERE high = 10",
		"UPDATE history SET exit_code = 1 WHERE job = 3":                         "UPDATE history SET exit_code = 0 WHERE job = 3",
		"UPDATE task_counts SET ready = ready + 1 WHERE task = 1":                "UPDATE task_counts SET ready = ready - 1 WHERE task = 1",
		"UPDATE share_counts SET held_units = held_units + 1 WHERE queue = 1":    "UPDATE share_counts SET held_units = held_units - 1 WHERE queue = 1",
		"UPDATE end_counts SET n = n + 1":                                        "UPDATE end_counts SET n = n - 1",
		"UPDATE hour_usage SET finished = finished + 1":                          "UPDATE hour_usage SET finished = finished - 1",
		"UPDATE day_usage SET unit_ms = unit_ms + 1":                             "UPDATE day_usage SET unit_ms = unit_ms - 1",
		"UPDATE task_usage SET day = day + interval '1 day'":                     "UPDATE task_usage SET day = day - interval '1 day'",
		"UPDATE node_usage SET node = 'm'":                                       "UPDATE node_usage SET node = 'n'",
		"UPDATE over_ranges SET state = 'x' WHERE low = 200":                     "UPDATE over_ranges SET state = 'c' WHERE low = 200",
		"UPDATE kills SET high = high + 1":                                       "UPDATE kills SET high = high - 1",
		"UPDATE moves SET running = NOT running":                                 "UPDATE moves SET running = NOT running",
		"UPDATE paused_tasks SET task = task + 1":                                "UPDATE paused_tasks SET task = task - 1",
		"UPDATE claims SET saved = saved || '{\"deleted\": true}' WHERE id = 20": "UPDATE claims SET saved = saved - 'deleted' WHERE id = 20",
		"UPDATE claims SET bound_at = bound_at + interval '1 us'":                "UPDATE claims SET bound_at = bound_at - interval '1 us'",
		"UPDATE claim_parties SET jobs = jobs + 1":                               "UPDATE claim_parties SET jobs = jobs - 1",
		"UPDATE claim_jobs SET place = 1":                                        "UPDATE claim_jobs SET place = 0",
		"UPDATE expected SET jobs = 8":                                           "UPDATE expected SET jobs = 7",
		"UPDATE latest SET entry = entry || '{\"shape\": 1}' WHERE kind = 'h'":   "UPDATE latest SET entry = entry || '{\"shape\": 0}' WHERE kind = 'h'",
		"INSERT INTO latest (kind, key, name, entry) VALUES ('L', 0, '', '{}')":  "DELETE FROM latest WHERE kind = 'L'",
		"INSERT INTO expected (share, shape, jobs) VALUES (9, 9, 9)":             "DELETE FROM expected WHERE share = 9",
		"UPDATE history SET ended_at = ended_at + interval '1 us' WHERE job = 1": "UPDATE history SET ended_at = ended_at - interval '1 us' WHERE job = 1",
	} {
		if tag, err := f.pool.Exec(t.Context(), damage); err != nil || tag.RowsAffected() == 0 {
			t.Fatal(damage, tag, err)
		}
		found, err := f.Compare(t.Context())
		table := slices.DeleteFunc(strings.Fields(damage), func(s string) bool { return s == "UPDATE" || s == "INSERT" || s == "INTO" })[0]
		if err != nil || len(found) == 0 || slices.ContainsFunc(found, func(d Difference) bool { return d.Table != table }) {
			t.Errorf("%s: found %v, %v", damage, found, err)
		}
		if _, err := f.pool.Exec(t.Context(), undo); err != nil {
			t.Fatal(undo, err)
		}
		f.sound(t)
	}
}

// What does not fit is told and stops nothing.
func TestOdd(t *testing.T) {
	t.Parallel()
	grant := entry.Granted{Job: 1, Attempt: 1, Task: 1, Share: 1, Queue: 1}
	again := grant
	again.Attempt = 2
	for name, entries := range map[string][]entry.Entry{
		"not ready":       {grant},
		"granted twice":   {entry.Enqueued{Task: 1, Share: 1, Low: 1, High: 1, Attempt: 1}, grant, again},
		"no lease":        {entry.Ended{Job: 1, Attempt: 1, Outcome: entry.Finished, Next: entry.Over}},
		"another attempt": {entry.Enqueued{Task: 1, Share: 1, Low: 1, High: 1, Attempt: 1}, grant, entry.Started{Job: 1, Attempt: 2}},
		"end of another":  {entry.Enqueued{Task: 1, Share: 1, Low: 1, High: 1, Attempt: 1}, grant, entry.Ended{Job: 1, Attempt: 2, Outcome: entry.Lost, Next: entry.Over}},
		"enqueued twice":  {entry.Enqueued{Task: 1, Share: 1, Low: 1, High: 3, Attempt: 1}, entry.Enqueued{Task: 1, Share: 2, Low: 2, High: 2, Attempt: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			for _, e := range entries {
				f.append(t, e)
			}
			if odd := f.foldAll(t, 1); len(odd) != 1 {
				t.Errorf("%q is told, want one", odd)
			}
			f.sound(t)
			f.begin()
			for _, e := range entries {
				f.append(t, e)
			}
			f.sound(t)
		})
	}
}

// Jobs that come back without their user, as its task was not found, count for the one that is known.
func TestNoUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	jobs := entry.Enqueued{Task: 1, Share: 1, Low: 1, High: 1, Attempt: 1, User: "ann"}
	nameless := entry.Enqueued{Task: 1, Share: 1, Low: 2, High: 2, Attempt: 1}
	for _, batches := range []int{1, 10} {
		f.empty(t, t)
		f.begin()
		f.append(t, jobs)
		f.append(t, nameless, entry.Granted{Job: 2, Attempt: 1, Task: 1, Share: 1, Queue: 1, Units: 1000})
		f.now = f.now.Add(time.Minute)
		f.append(t, entry.Ended{Job: 2, Attempt: 1, Outcome: entry.Finished, Next: entry.Over})
		f.foldAll(t, batches)
		f.sound(t)
		var users string
		err := f.pool.QueryRow(t.Context(), "SELECT string_agg(user_name, ',') FROM (SELECT user_name FROM task_counts UNION ALL SELECT user_name FROM hour_usage) u").Scan(&users)
		if err != nil || users != "ann,ann" {
			t.Errorf("%d batches a time: %q, %v", batches, users, err)
		}
	}
}

// A log that lost what is folded is refused, with more batches or with none.
func TestDiverged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.busy(t, 10)
	f.foldAll(t, 3)
	f.log.FailOver(8)
	if _, err := f.Fold(t.Context(), 10); !errors.Is(err, ErrDiverged) {
		t.Errorf("%v, want ErrDiverged", err)
	}
	last := f.last
	f.last = Position{}
	f.begin()
	for range 11 {
		f.append(t, entry.Tick{})
	}
	if _, err := f.Fold(t.Context(), 10); err != nil {
		t.Errorf("%v: batches of the same ids are the same", err)
	}
	f.begin()
	f.append(t, entry.Tick{})
	f.last.ID[0] = 2
	if p, err := f.Position(t.Context()); p.Seq != 11 || p.ID == last.ID || err != nil {
		t.Error(p, err)
	}
	if _, err := f.Compare(t.Context()); !errors.Is(err, ErrDiverged) {
		t.Errorf("%v, want ErrDiverged", err)
	}
}

// Days of history go one by one, oldest first, and only as a whole.
func TestRetain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		f.busy2(t)
		f.now = f.now.Add(24 * time.Hour)
	}
	f.foldAll(t, 10)
	for _, c := range []struct {
		before time.Duration
		n      int
	}{{0, 0}, {11 * time.Hour, 0}, {12 * time.Hour, 1}, {12 * time.Hour, 0}, {80 * time.Hour, 2}} {
		if n, err := f.Retain(t.Context(), noon.Add(c.before)); n != c.n || err != nil {
			t.Errorf("before %v: dropped %d, %v, want %d", c.before, n, err, c.n)
		}
	}
	f.busy2(t)
	f.foldAll(t, 10)
	if got := f.read(t).History; len(got) != 1 {
		t.Errorf("%d attempts, want the one of today", len(got))
	}
}

// busy2 appends a life.
func (f *fixture) busy2(t *testing.T) {
	t.Helper()
	id := f.last.Seq + 1
	f.append(t, entry.Enqueued{Task: 1, Share: 1, Low: id, High: id, Attempt: 1}, entry.Granted{Job: id, Attempt: 1, Task: 1, Share: 1, Queue: 1},
		entry.Ended{Job: id, Attempt: 1, Outcome: entry.Finished, Next: entry.Over})
}

// A start has the leases and ranges as Go knows them.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant := entry.Granted{Job: 5, Attempt: 1, Nonce: -7, Task: 1, Share: 1, Shape: 2, Place: -3, Queue: 4, Units: shares.Units(5), Pilot: "p", Node: "n", Request: entry.ID{1, 2, 3}}
	f.append(t, entry.Enqueued{Task: 1, Share: 1, Shape: 2, Place: -3, Low: 1, High: 9, Attempt: 1}, grant)
	f.append(t, entry.Revoked{Job: 5, Attempt: 1, Reason: "reclaim", GraceS: 9})
	f.now = f.now.Add(time.Second)
	f.append(t, entry.Started{Job: 5, Attempt: 1}, entry.Expected{Share: 1, Shape: 2, Jobs: 3}, entry.Adopted{Number: 3})
	f.foldAll(t, 1)
	var leases []Holding
	var ranges []Range
	var expected []entry.Expected
	var entries []entry.Entry
	p, err := Load(t.Context(), f.pool, Sink{Lease: func(l Holding) { leases = append(leases, l) }, Range: func(r Range) { ranges = append(ranges, r) },
		Expected: func(e entry.Expected) { expected = append(expected, e) }, Entry: func(e entry.Entry) { entries = append(entries, e) }})
	if err != nil || p.Seq != 3 || p.ID != f.last.ID || !p.At.Equal(f.now) {
		t.Fatal(p, err)
	}
	like := Like{1, -3, 1, 2, 1, Ready}
	if want := []Holding{{Lease{grant, Nth(1, 1), noon, 1000, 0, "reclaim", 9}, 1}}; !slices.Equal(leases, want) {
		t.Errorf("leases %+v, want %+v", leases, want)
	}
	if want := []Range{{1, 4, like}, {6, 9, like}}; !slices.Equal(ranges, want) {
		t.Errorf("ranges %+v, want %+v", ranges, want)
	}
	if !slices.Equal(expected, []entry.Expected{{Share: 1, Shape: 2, Jobs: 3}}) || !slices.Equal(entries, []entry.Entry{entry.Adopted{Number: 3}}) {
		t.Errorf("expected %v, entries %v", expected, entries)
	}
}

// A range grows at both ends and closes gaps, whichever step brings a job back; one that loses its last job is no row.
func TestNeighboursMerge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.append(t, entry.Enqueued{Task: 1, Share: 1, Low: 1, High: 4, Attempt: 1})
	for id := range int64(4) {
		f.append(t, entry.Granted{Job: id + 1, Attempt: 1, Task: 1, Share: 1, Queue: 1})
	}
	want := func(want ...Range) {
		t.Helper()
		f.foldAll(t, 1)
		if got := f.read(t).Ranges; !slices.Equal(got, want) {
			t.Errorf("ranges %+v, want %+v", got, want)
		}
	}
	want()
	like := Like{Task: 1, Share: 1, Attempt: 2, State: Ready}
	again := func(job int64) {
		f.append(t, entry.Ended{Job: job, Attempt: 1, Outcome: entry.Failed, Next: entry.Again})
	}
	again(2)
	want(Range{2, 2, like})
	again(1)
	want(Range{1, 2, like})
	again(4)
	want(Range{1, 2, like}, Range{4, 4, like})
	again(3)
	want(Range{1, 4, like})
	f.append(t, entry.Placed{Task: 1, Low: 2, High: 3, Place: 9})
	moved := like
	moved.Place = 9
	want(Range{1, 1, like}, Range{2, 3, moved}, Range{4, 4, like})
	f.append(t, entry.Placed{Task: 1, Low: 0, High: 1 << 62, Place: 9})
	want(Range{1, 4, moved})
}
