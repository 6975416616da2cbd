package replay

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// forget empties the tables that the fold makes.
const forget = `TRUNCATE held, idle_ranges, history, task_counts, share_counts, end_counts, hour_usage, day_usage, task_usage, node_usage, expected, latest, over_ranges,
	kills, moves, paused_tasks, steps, claims, claim_parties, claim_jobs;
	UPDATE folded SET seq = 0, id = '00000000-0000-0000-0000-000000000000', at = 'epoch'; UPDATE rolled SET at = 'epoch'`

// start has a pilot run what it was granted.
func (w *world) start(*rapid.T) {
	for _, l := range slices.SortedFunc(w.leader.Leases(), func(a, b machine.Lease) int { return cmp.Compare(a.Job, b.Job) }) {
		if !l.Started && w.apply(entry.Started{Job: l.Job, Attempt: l.Attempt}) {
			return
		}
	}
}

// pass has hours pass, so that sums of hours and days begin after checkpoints.
func (w *world) pass(t *rapid.T) {
	w.seal()
	w.points = append(w.points, Take(w.leader, w.now))
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour)
	w.apply(entry.Tick{Now: w.now})
}

// folded makes the tables of the log, in steps of so many batches.
func (h *history) folded(t fail, pool *pgxpool.Pool, batches int) *fold.Folder {
	_, err := pool.Exec(context.Background(), forget)
	f := fold.New(pool, h.log, func(_ context.Context, n int64) (v shares.Version, err error) { return h.sites[n], nil })
	for n := 1; err == nil && n > 0; {
		var r fold.Result
		r, err = f.Fold(context.Background(), batches)
		n = r.Batches
	}
	if err == nil {
		err = f.RollNodes(context.Background())
	}
	if err != nil {
		t.Fatalf("fold: %v", err)
	}
	return f
}

// unpacked is a checkpoint as the database has it.
func unpacked(t fail, c *Checkpoint) *Checkpoint {
	packed, err := c.Pack()
	if err == nil {
		c, err = Unpack(packed)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

// From each checkpoint on the tables are what the log says, whatever it says, with its beginning dropped.
func TestTablesAreTheLogSinceCheckpoints(t *testing.T) {
	pool := pgtest.Open(t)
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){"enqueue": w.enqueue, "pull": w.drawPull, "pull more": w.drawPull, "start": w.start, "end": w.end, "claim": w.claim, "verb": w.verb,
			"back": w.back, "expect": w.expect, "tick": w.tick, "pass": w.pass, "adopt": w.adopt})
		w.seal()
		f := w.folded(t, pool, rapid.IntRange(1, 20).Draw(t, "batches"))
		if found, err := f.Compare(context.Background()); err != nil || len(found) > 0 {
			t.Fatal("from the beginning:", found, err)
		}
		for _, c := range w.points {
			if c.Machine.Seq > 1 {
				if _, err := w.log.Retain(context.Background(), w.now.Add(time.Second), c.Machine.Seq); err != nil {
					t.Fatal(err)
				}
			}
			found, err := f.CompareSince(context.Background(), unpacked(t, c).Since())
			if err != nil || len(found) > 0 {
				t.Fatalf("since batch %d of %d: %v, %v", c.Machine.Seq, w.points[len(w.points)-1].Machine.Seq, found, err)
			}
			checked++
		}
	})
	if checked == 0 {
		t.Error("no checkpoint was compared from")
	}
}

// Whatever is wrong in a table is found since a checkpoint, but for what nobody can know.
func TestSpoiltTablesAreFound(t *testing.T) {
	pool := pgtest.Open(t)
	h := newHistory(machine.Config{})
	v := weighted(t, 1, 1)
	h.all(t, entry.Tick{Now: h.now}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}}, entry.Adopted{Number: 1, Site: &v},
		entry.Claimed{Claim: 1, Task: 3, Key: "k", Jobs: 5, SharingID: "ann", Template: shares.ClaimTemplate{Name: "t", Node: true, Linger: time.Minute}},
		entry.Joined{Task: 3, Low: 300, High: 304, Claims: []int64{1}})
	for task := range int64(3) {
		h.all(t, entry.Enqueued{Task: task + 1, Share: shares.ShareID(task%2 + 1), Shape: 1, Low: (task + 1) * 100, High: (task+1)*100 + 4, Attempt: 1, User: "ann"})
	}
	pull := func(n int) {
		for range n {
			if d := h.pull(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Pilot: "p"}); len(d.Entries) == 0 {
				t.Fatal("nothing is granted")
			}
		}
	}
	end := func(n int) {
		for _, l := range slices.SortedFunc(h.leader.Leases(), func(a, b machine.Lease) int { return cmp.Compare(a.Job, b.Job) })[:n] {
			h.all(t, entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over})
		}
	}
	pull(6)
	end(1)
	h.all(t, entry.Killed{Task: 1, Low: 104, High: 104, Reason: "before"})
	h.seal()
	c := unpacked(t, Take(h.leader, h.now))
	h.now = h.now.Add(50 * time.Hour)
	h.all(t, entry.Tick{Now: h.now})
	h.seal()
	pull(2)
	h.now = h.now.Add(3 * time.Hour)
	h.all(t, entry.Tick{Now: h.now})
	end(3)
	h.all(t, entry.Enqueued{Task: 4, Share: 1, Shape: 1, Low: 400, High: 409, Attempt: 1, User: "bob"}, entry.Paused{Task: 4}, entry.Killed{Task: 4, Low: 405, High: 409, Reason: "after"},
		entry.Expected{Share: 2, Shape: 1, Jobs: 3})
	for task := range int64(2) {
		h.all(t, entry.Moved{Task: task + 1, Low: 1, High: 999, Share: 2, Running: true}, entry.Killed{Task: task + 1, Low: 1, High: 999, Reason: "after"})
	}
	h.seal()
	h.now = h.now.Add(24 * time.Hour)
	h.all(t, entry.Tick{Now: h.now}, entry.Enqueued{Task: 5, Share: 1, Shape: 1, Low: 1, High: 2, Attempt: 1, User: "bob"})
	pull(1)
	h.seal()
	h.now = h.now.Add(time.Hour)
	end(1)
	h.seal()
	h.now = h.now.Add(time.Hour)
	h.all(t, entry.Tick{Now: h.now})
	h.seal()
	for _, s := range []struct{ table, set, where string }{
		{"held", "units = units + 1", "true"}, {"held", "queue = 2", "true"}, {"idle_ranges", "place = place + 1", "true"}, {"over_ranges", "state = 'x'", "at > $1"},
		{"kills", "reason = ''", "true"}, {"moves", "running = false", "true"}, {"paused_tasks", "task = 9", "true"}, {"claims", "saved = jsonb_set(saved::jsonb, '{key}', '\"other\"')", "true"},
		{"claim_parties", "jobs = jobs + 1", "true"}, {"claim_jobs", "high = high + 1", "true"}, {"task_counts", "held = held + 1", "true"}, {"share_counts", "held_units = held_units + 1", "true"},
		{"end_counts", "n = n + 1", "hour > $1"}, {"hour_usage", "unit_ms = unit_ms + 1", "hour > $1"}, {"day_usage", "unit_ms = unit_ms + 1", "day > $1"},
		{"task_usage", "unit_ms = unit_ms + 1", "day > $1"}, {"node_usage", "unit_ms = unit_ms + 1", "day > $1"}, {"expected", "jobs = jobs + 1", "true"},
		{"latest", "entry = jsonb_set(entry, '{now}', '\"2001-01-01T00:00:00Z\"')", "kind = 't'"}, {"history", "exit_code = 7", "ended_at > $1"}, {"history", "nonce = 7", "granted_at > $1"},
		{"", "nonce = 7", "granted_at <= $1"}, {"", "state = 'x'", "ended_at <= $1"},
	} {
		f := h.folded(t, pool, 100)
		table, found := cmp.Or(s.table, "history"), []fold.Difference(nil)
		tag, err := pool.Exec(t.Context(), "UPDATE "+table+" SET "+s.set+" WHERE $1::timestamptz IS NOT NULL AND "+s.where, c.At)
		if err == nil && tag.RowsAffected() == 0 {
			t.Errorf("%s has nothing to be spoilt where %s", table, s.where)
		}
		if err == nil {
			found, err = f.CompareSince(t.Context(), c.Since())
		}
		if err != nil {
			t.Fatal(s.table, err)
		}
		if isFound := slices.ContainsFunc(found, func(d fold.Difference) bool { return d.Table == table }); isFound != (s.table != "") {
			t.Errorf("%s with %s where %s: %v", table, s.set, s.where, found)
		}
	}
}
