package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bench is a store on a database of its own whose hooks play the packages above.
type bench struct {
	*Store
	t       *testing.T
	db      *pgxpool.Pool
	live    map[string]Live // by path in force
	order   []string        // hooks as they were called
	moved   []string
	applied shares.Version
}

func newBench(t *testing.T) *bench { return newBenchOn(t, pgtest.Open(t)) }

func newBenchOn(t *testing.T, db *pgxpool.Pool) *bench {
	b := &bench{t: t, db: db, live: map[string]Live{}}
	b.Store = NewStore(Config{Pool: b.db, Hooks: Hooks{
		Barrier: func(context.Context, pgx.Tx) error { b.order = append(b.order, "barrier"); return nil },
		Live:    b.countLive,
		Move: func(_ context.Context, _ pgx.Tx, from, to shares.ShareID) error {
			b.order = append(b.order, "move")
			b.moved = append(b.moved, fmt.Sprintf("%d→%d", from, to))
			return nil
		},
		Applied: func(_ context.Context, _ pgx.Tx, v shares.Version) error {
			b.order, b.applied = append(b.order, "applied"), v
			return nil
		},
	}})
	return b
}

func (b *bench) countLive(ctx context.Context, tx pgx.Tx) (map[shares.ShareID]Live, error) {
	b.order = append(b.order, "live")
	rows, err := many[liveShare](ctx, tx, "live_shares", pgx.StrictNamedArgs{})
	out := map[shares.ShareID]Live{}
	for _, l := range rows {
		if b.live[l.Path].Any() {
			out[l.ID] = b.live[l.Path]
		}
	}
	return out, err
}

// site is a file out of its shares, one a line of flow YAML, with a queue.
func site(lines ...string) string {
	return "shares:\n  - " + strings.Join(lines, "\n  - ") + "\nqueues: [{name: q, slots: 100}]\n"
}

func (b *bench) try(src string, moves ...string) (Applied, error) {
	r := ApplyRequest{Source: []byte(src), By: "alice", Moves: map[string]string{}}
	for i := 0; i < len(moves); i += 2 {
		r.Moves[moves[i]] = moves[i+1]
	}
	return b.Apply(b.t.Context(), r)
}

func (b *bench) apply(src string, moves ...string) Applied {
	b.t.Helper()
	a, err := b.try(src, moves...)
	if err != nil {
		b.t.Fatalf("apply: %v\n%s", err, src)
	}
	return a
}

func (b *bench) load() *Site {
	b.t.Helper()
	s, err := b.Load(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// ids is path → id of what is in force, and the same from the table, which must agree.
func (b *bench) ids() map[string]shares.ShareID {
	b.t.Helper()
	byPath, _ := b.load().ids()
	rows, err := many[liveShare](b.t.Context(), b.db, "live_shares", pgx.StrictNamedArgs{})
	if err != nil {
		b.t.Fatal(err)
	}
	table := map[string]shares.ShareID{}
	for _, l := range rows {
		table[l.Path] = l.ID
	}
	if d := cmp.Diff(byPath, table); d != "" {
		b.t.Fatalf("Load and the table differ: %s", d)
	}
	return byPath
}

// dump is the content of every table of the package.
func (b *bench) dump() string {
	b.t.Helper()
	var all string
	for _, table := range []string{"site_versions", "shares", "queues", "tag_rules", "site_resources", "resource_capacities"} {
		var text *string
		err := b.db.QueryRow(b.t.Context(), "SELECT json_agg(t ORDER BY t::text)::text FROM "+table+" AS t").Scan(&text)
		if err != nil {
			b.t.Fatal(err)
		}
		if text != nil {
			all += table + *text + "\n"
		}
	}
	return all
}

func TestLoadEqualsWhatWasApplied(t *testing.T) {
	for name, src := range samples(t, "good.*.yml") {
		b := newBench(t)
		if s := b.load(); s.Number != 0 || len(s.Tree.Nodes) != 1 || s.Tags.Tag(nil).Verdict != tagging.Reject {
			t.Fatalf("before the first version: %+v", s)
		}
		a := b.apply(string(src))
		want, err := Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		// A second store: nothing comes from the memory of the first.
		got, err := NewStore(Config{Pool: b.db}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if a.Version != 1 || got.Number != 1 || got.AppliedBy != "alice" || time.Since(got.AppliedAt).Abs() > time.Hour {
			t.Errorf("%s: applied %+v, loaded %+v", name, a, got.Head())
		}
		want.setIDs(got.ids())
		for _, n := range got.Tree.Nodes[1:] {
			if n.ID <= 0 {
				t.Errorf("%s: share %s has id %d", name, n.Path, n.ID)
			}
		}
		for _, d := range []string{cmp.Diff(want.Tree.Nodes, got.Tree.Nodes), cmp.Diff(want.Queues, got.Queues),
			cmp.Diff(want.Rules, got.Rules), cmp.Diff(want.OnNoMatch, got.OnNoMatch), cmp.Diff(b.applied.Tree.Nodes, got.Tree.Nodes),
			cmp.Diff(b.applied.Queues, got.Queues), cmp.Diff(b.applied.Resources, got.Version().Resources), cmp.Diff(b.applied.ClaimTemplates, got.ClaimTemplates),
			cmp.Diff(append([]shares.Resource{}, want.Resources...), got.Resources, cmpopts.EquateEmpty())} {
			if d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		b.ids()
		if again := b.apply(string(src)); !again.Unchanged || again.Version != 1 || !again.Changes.None() {
			t.Errorf("%s: applied again: %+v", name, again)
		}
	}
}

func TestIdsAreStable(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A, children: [{name: x}, {name: y}]}", "{name: B}"))
	v1 := b.ids()
	steps := []struct {
		name string
		src  string
		same map[string]string // path → path in version 1
		new  []string
	}{
		{"a rename takes the children along", site("{name: Z, was: A, weight: 3, children: [{name: x}, {name: y}]}", "{name: B}"),
			map[string]string{"Z": "A", "Z/x": "A/x", "Z/y": "A/y", "B": "B"}, nil},
		{"was: left in the file is history, also when the old name is in use again",
			site("{name: Z, was: A, children: [{name: x}, {name: y}]}", "{name: B}", "{name: A}"),
			map[string]string{"Z": "A", "Z/x": "A/x", "B": "B"}, []string{"A"}},
		{"and stays so", site("{name: Z, was: A, weight: 9, children: [{name: x}, {name: y}]}", "{name: B}", "{name: A}"),
			map[string]string{"Z": "A", "Z/x": "A/x", "B": "B"}, nil},
		{"two swap", site("{name: B, was: Z, children: [{name: x}, {name: y}]}", "{name: Z, was: B}"),
			map[string]string{"B": "A", "B/x": "A/x", "Z": "B"}, nil},
		{"out of the branch", site("{name: B, children: [{name: y}]}", "{name: Z, children: [{name: x, was: B/x}, {name: q}]}"),
			map[string]string{"B": "A", "B/y": "A/y", "Z/x": "A/x", "Z": "B"}, []string{"Z/q"}},
		{"upside down", site("{name: y, was: B/y, children: [{name: B}, {name: v}]}", "{name: Z, children: [{name: x}]}"),
			map[string]string{"y": "A/y", "Z/x": "A/x"}, []string{"y/B"}},
	}
	used := map[shares.ShareID]bool{}
	for _, id := range v1 {
		used[id] = true
	}
	for _, s := range steps {
		a := b.apply(s.src)
		if len(a.Notes) > 0 {
			t.Errorf("%s: notes %v", s.name, a.Notes)
		}
		now := b.ids()
		for path, was := range s.same {
			if now[path] != v1[was] {
				t.Errorf("%s: %s has id %d, want %d of %s", s.name, path, now[path], v1[was], was)
			}
		}
		for _, path := range s.new {
			if used[now[path]] {
				t.Errorf("%s: %s has id %d, which another share had", s.name, path, now[path])
			}
		}
		for _, id := range now {
			used[id] = true
		}
	}
}

func TestWasThatFindsNobodyIsNoted(t *testing.T) {
	b := newBench(t)
	a := b.apply("shares: [{name: A, was: Nobody}]\nqueues: [{name: q, was: p}]\n")
	if want := []string{"share A: was: Nobody is not in force and has no effect", "queue q: was: p is not in force and has no effect"}; !cmp.Equal(a.Notes, want) {
		t.Errorf("notes %q", a.Notes)
	}
}

func TestLiveWorkIsInTheWay(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}", "{name: C}"))
	before := b.dump()
	ids := b.ids()
	b.live["A"] = Live{Tasks: 2, Ready: 30, Pieces: 99000}
	b.live["B"] = Live{Leased: 1}
	src := site("{name: B, children: [{name: x}]}", "{name: C}")
	_, err := b.try(src, "C", "B/x", "Q", "C")
	want := strings.Join([]string{
		"share A is removed but has live work: 2 tasks, 30 ready jobs, 99000 pieces to come (--move A=<leaf of the new tree>)",
		"share B gets children but has live work: 1 leased job (--move B=<leaf of the new tree>)",
		"move C: the share stays a leaf and keeps its work",
		"move Q: no such share is in force (known: A, B, C)",
	}, "\n")
	var refused *Refused
	if !errors.As(err, &refused) || err.Error() != want || *refused.Obstacles[0].Live != b.live["A"] {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := b.try(src, "A", "B", "B", "B/x"); err == nil || err.Error() != `move A=B: B is not a leaf of the new tree (known: B/x, C)` {
		t.Errorf("move to an inner share: %v", err)
	}
	if d := cmp.Diff(before, b.dump()); d != "" {
		t.Errorf("a refused change wrote: %s", d)
	}
	b.order = nil
	a := b.apply(src, "A", "C", "B", "B/x")
	if got := strings.Join(b.order, " "); got != "barrier live move move applied" {
		t.Errorf("hooks: %s", got)
	}
	now := b.ids()
	if want := []string{fmt.Sprintf("%d→%d", ids["A"], ids["C"]), fmt.Sprintf("%d→%d", ids["B"], now["B/x"])}; !cmp.Equal(b.moved, want) {
		t.Errorf("moved %v, want %v", b.moved, want)
	}
	if d := cmp.Diff(a.Moved, []Moved{{"A", "C", b.live["A"]}, {"B", "B/x", b.live["B"]}}); d != "" {
		t.Error(d)
	}
}

func TestQueueWithLeasesStays(t *testing.T) {
	b := newBench(t)
	b.apply("shares: [{name: A}]\nqueues: [{name: p}, {name: q}]\n")
	queue, _ := b.load().Queue("q")
	_, err := b.db.Exec(t.Context(), `INSERT INTO share_counts (share, shape, queue, ready, held, held_units) VALUES (1, 1, $1, 0, 2, 2000), (1, 2, $1, 0, 1, 1000)`, queue.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.try("shares: [{name: A}]\nqueues: []\n")
	if err == nil || !strings.HasPrefix(err.Error(), "queue q is removed but has 3 leased jobs (divvy queue drain q") || strings.Contains(err.Error(), "queue p") {
		t.Errorf("removed: %v", err)
	}
	b.apply("shares: [{name: A}]\nqueues: [{name: q, was: p}, {name: r, was: q}]\n")
	if moved, _ := b.load().Queue("r"); moved.ID != queue.ID {
		t.Errorf("renamed queue has id %d, want %d", moved.ID, queue.ID)
	}
}

// A task that went to another share may have left running jobs behind.
func TestShareWithLeasesStays(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	_, err := b.db.Exec(t.Context(), `INSERT INTO share_counts (share, shape, queue, ready, held, held_units) VALUES ($1, 1, 0, 0, 0, 0), ($1, 1, 1, 0, 2, 2000), ($1, 1, 2, 0, 1, 1000)`, b.ids()["A"])
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.try(site("{name: B}"))
	if want := "share A is removed but has live work: 3 leased jobs (--move A=<leaf of the new tree>)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestQueueStateSurvives(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}"))
	conn, err := b.db.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "LISTEN divvy"); err != nil {
		t.Fatal(err)
	}
	b.order = nil
	if err := b.SetQueueState(t.Context(), "q", shares.Drain); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if n, err := conn.Conn().WaitForNotification(ctx); err != nil || n.Payload != "site" {
		t.Errorf("notification %+v, %v", n, err)
	}
	if got := strings.Join(b.order, " "); got != "barrier applied" || b.applied.Queues[0].State != shares.Drain {
		t.Errorf("hooks: %s, %+v", got, b.applied.Queues)
	}
	b.apply(site("{name: A, weight: 2}"))
	if queue, _ := b.load().Queue("q"); queue.State != shares.Drain || b.applied.Queues[0].State != shares.Drain {
		t.Errorf("after another apply: %+v", queue)
	}
	b.order = nil
	if err := b.SetQueueState(t.Context(), "q", shares.Drain); err != nil || len(b.order) != 0 {
		t.Errorf("the same state again: %v, %v", err, b.order)
	}
	if err := b.SetQueueState(t.Context(), "x", shares.Drain); !errors.Is(err, ErrUnknownQueue) {
		t.Errorf("unknown queue: %v", err)
	}
	if err := b.SetQueueState(t.Context(), "q", "gone"); !errors.Is(err, ErrQueueState) {
		t.Errorf("unknown state: %v", err)
	}
}

// A version that a newer binary refuses must not keep anyone from applying a better one.
func TestUnreadableVersionCanBeReplaced(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}"))
	a := b.ids()["A"]
	if _, err := b.db.Exec(t.Context(), "UPDATE site_versions SET source = 'shares: 5'"); err != nil {
		t.Fatal(err)
	}
	b.last.Store(nil)
	var problems strict.Problems
	if _, err := b.Load(t.Context()); !errors.Is(err, ErrUnreadable) || errors.As(err, &problems) {
		t.Errorf("load: %v", err)
	}
	f, err := b.File(t.Context(), 1)
	if err != nil || f.Source != "shares: 5" || f.AppliedBy != "alice" || !strings.HasPrefix(f.Unreadable, "version-1.yml:1:9: ") {
		t.Errorf("file %+v, %v", f, err)
	}
	b.apply(site("{name: A}", "{name: B}"))
	if now := b.ids(); now["A"] != a || b.load().Number != 2 {
		t.Errorf("ids %v", now)
	}
	if f, err = b.File(t.Context(), 2); err != nil || f.Unreadable != "" {
		t.Errorf("file %+v, %v", f, err)
	}
	if _, err := b.File(t.Context(), 3); !errors.Is(err, ErrNoVersion) {
		t.Errorf("file of no version: %v", err)
	}
	if _, err := b.Diff(t.Context(), 1, 2); !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "version-1.yml:1:9: ") {
		t.Errorf("diff: %v", err)
	}
}

func TestProblemsApplyNothing(t *testing.T) {
	b := newBench(t)
	for name, src := range samples(t, "bad.*.yml") {
		var problems strict.Problems
		if _, err := b.try(string(src)); !errors.As(err, &problems) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.dump() != "" {
		t.Error("something was written")
	}
}

func TestAtOnceEachGetsAVersion(t *testing.T) {
	b := newBench(t)
	const n = 8
	var all sync.WaitGroup
	versions := make([]int64, n)
	for i := range n {
		all.Go(func() {
			s := NewStore(Config{Pool: b.db}) // as many daemons
			a, err := s.Apply(t.Context(), ApplyRequest{Source: []byte(site("{name: A}", fmt.Sprintf("{name: S%d}", i))), By: "x"})
			if err != nil {
				t.Errorf("apply %d: %v", i, err)
			}
			versions[i] = a.Version
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for i, v := range versions {
		if v < 1 || v > n || seen[v] {
			t.Errorf("apply %d got version %d of %v", i, v, versions)
		}
		seen[v] = true
		s, err := b.Get(t.Context(), v)
		if err != nil || !s.Leaf(fmt.Sprintf("S%d", i)) {
			t.Errorf("version %d is not what it was given: %v", v, err)
		}
	}
	now := b.ids()
	first, err := b.Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if byPath, _ := first.ids(); byPath["A"] != now["A"] || len(now) != 2 {
		t.Errorf("ids %v, at first %v", now, byPath)
	}
}

// A task that is being submitted to a share either is counted when the share is removed, or sees it removed.
func TestSubmissionAndRemovalMeet(t *testing.T) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	b.hooks.Live = func(ctx context.Context, tx pgx.Tx) (map[shares.ShareID]Live, error) {
		out := map[shares.ShareID]Live{}
		rows, err := tx.Query(ctx, "SELECT share_id, count(*) FROM tasks GROUP BY share_id")
		if err != nil {
			return nil, err
		}
		var id shares.ShareID
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { out[id] = Live{Tasks: n}; return nil })
		return out, err
	}
	const submit = `INSERT INTO tasks (name, user_name, spec, share_id)
		SELECT 't', 'u', '{}', s.id FROM shares AS s WHERE s.id = $1 AND s.removed_in IS NULL AND s.leaf FOR KEY SHARE`
	first, err := b.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(context.Background())
	a := b.ids()["A"]
	if _, err := first.Exec(t.Context(), submit, a); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := b.try(site("{name: B}"))
		result <- err
	}()
	waitFor(t, b.db, "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) OR NOT granted AND locktype = 'transactionid'")
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var refused *Refused
	if err := <-result; !errors.As(err, &refused) || refused.Obstacles[0].Live.Tasks != 1 {
		t.Fatalf("removal with a task that came just before: %v", err)
	}
	b.apply(site("{name: B}"), "A", "B")
	if tag, err := b.db.Exec(t.Context(), submit, a); err != nil || tag.RowsAffected() != 0 {
		t.Errorf("a task for a removed share: %v, %v", tag, err)
	}
}

func waitFor(t *testing.T, db *pgxpool.Pool, count string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		var n int
		if err := db.QueryRow(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never true: %s", count)
}

// Every statement is valid on the migrated database, and used.
func TestStatements(t *testing.T) {
	tx := pgtest.Tx(t)
	var code strings.Builder
	names, _ := filepath.Glob("*.go")
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(src)
	}
	arg := regexp.MustCompile(`@(\w+)`)
	for name, sql := range q {
		if !strings.HasPrefix(sql, "-- ") {
			t.Errorf("%s.sql does not begin with a comment", name)
		}
		if !strings.Contains(code.String(), `"`+name+`"`) {
			t.Errorf("%s.sql is not used", name)
		}
		numbers := map[string]int{}
		plain := arg.ReplaceAllStringFunc(sql, func(a string) string {
			if numbers[a] == 0 {
				numbers[a] = len(numbers) + 1
			}
			return fmt.Sprintf("$%d", numbers[a])
		})
		if _, err := tx.Prepare(t.Context(), name, plain); err != nil {
			t.Errorf("%s.sql: %v", name, err)
		}
	}
}

// A version that is read by its number is as when it is loaded: states, capacities, and who may pull, also in a store that reads nothing else.
func TestAt(t *testing.T) {
	b := newBench(t)
	b.apply("shares: [{name: A}]\nqueues: [{name: q, pilots: ['token:x']}]\nresources: [{name: r, capacity: 3}]\n")
	b.apply("shares: [{name: A}, {name: B}]\nqueues: [{name: q, pilots: ['token:y']}]\nresources: [{name: r, capacity: 3}]\n")
	five := int64(5)
	if err := errors.Join(b.SetQueueState(t.Context(), "q", shares.Drain), b.SetResourceCapacity(t.Context(), SetCapacity{Resource: "r", Capacity: &five})); err != nil {
		t.Fatal(err)
	}
	other := NewStore(Config{Pool: b.db})
	for _, number := range []int64{2, 1, 2} {
		v, err := other.At(t.Context(), number)
		if err != nil || v.Number != number || len(v.Tree.Nodes) != 1+int(number) || v.Queues[0].State != shares.Drain || v.Queues[0].ID == 0 || v.Tree.Nodes[1].ID == 0 || len(v.Resources[0].Live) != 1 {
			t.Errorf("version %d: %+v %v", number, v, err)
		}
		if other.Admits("q", file.Pilot{Token: "x"}) || !other.Admits("q", file.Pilot{Token: "y"}) {
			t.Errorf("after version %d: not the pilots of the newest one", number)
		}
	}
	if _, err := other.At(t.Context(), 3); !errors.Is(err, ErrNoVersion) {
		t.Error(err)
	}
}

// samples are the files that the tests of package file parse.
func samples(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("file", "testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = src
	}
	return all
}
