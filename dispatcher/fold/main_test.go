package fold

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// noon is when the logs of tests begin.
var noon = time.Date(2001, 1, 1, 12, 0, 0, 0, time.UTC)

// fixture is a log in memory and a database that folds it.
type fixture struct {
	*Folder
	log  *ledgertest.Memory
	pool *pgxpool.Pool
	now  time.Time
	last Position
}

// fail is what a test and a draw of a property have in common.
type fail interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	pool := pgtest.Open(t)
	f := &fixture{pool: pool}
	f.begin()
	return f
}

// begin begins a new log.
func (f *fixture) begin() {
	f.now, f.last = noon, Position{}
	f.log = &ledgertest.Memory{Clock: func() time.Time { return f.now }}
	f.Folder = New(f.pool, f.log, siteOf)
}

// siteOf is the site of tests: odd versions have a template that even ones lack.
func siteOf(_ context.Context, number int64) (shares.Version, error) {
	v := shares.Version{Number: number, Queues: []shares.Queue{{ID: 1, Name: "q1"}, {ID: 2, Name: "q2"}}}
	if number%2 == 1 {
		v.ClaimTemplates = []shares.ClaimTemplate{{Name: "late", Node: true, Linger: time.Second}}
	}
	return v, nil
}

// append appends a batch.
func (f *fixture) append(t fail, entries ...entry.Entry) {
	t.Helper()
	seq := f.last.Seq + 1
	b := entry.Batch{Seq: seq, ID: entry.ID{0: 1, 14: byte(seq >> 8), 15: byte(seq)}, After: f.last.ID, By: 1, Entries: entries}
	if _, err := f.log.Append(nil, b); err != nil { //nolint:staticcheck // memory needs no context
		t.Fatal(err)
	}
	f.last = Position{Seq: seq, ID: b.ID, At: f.now}
}

// foldAll folds what there is and returns what did not fit.
func (f *fixture) foldAll(t *testing.T, batches int) (odd []string) {
	t.Helper()
	for {
		r, err := f.Fold(t.Context(), batches)
		if err != nil {
			t.Fatal(err)
		}
		if r.Batches == 0 {
			return odd
		}
		odd = append(odd, r.Odd...)
	}
}

// tables are all of them but latest.
type tables struct {
	Held     []Lease
	Ranges   []Range
	Over     []Over
	Paused   []int64
	Kills    []Kill
	Moves    []Move
	History  []Attempt
	Expected []entry.Expected
	Sums     Sums
	Nodes    []Usage
}

func collect[R any](rows *[]R, read func(*row) R) func(*row) {
	return func(r *row) { *rows = append(*rows, read(r)) }
}

// read is what the tables have.
func (f *fixture) read(t *testing.T) (got tables) {
	t.Helper()
	tx, err := f.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	for name, fn := range map[string]func(*row){
		"held": collect(&got.Held, (*row).lease), "idle_ranges": collect(&got.Ranges, (*row).idle),
		"over_ranges": collect(&got.Over, (*row).overRange), "paused_tasks": collect(&got.Paused, (*row).int64),
		"kills": collect(&got.Kills, (*row).kill), "moves": collect(&got.Moves, (*row).move),
		"history": collect(&got.History, (*row).attempt), "expected": collect(&got.Expected, (*row).expected),
		"task_counts": collect(&got.Sums.Tasks, (*row).taskCount), "share_counts": collect(&got.Sums.Shares, (*row).shareCount),
		"end_counts": collect(&got.Sums.Ends, (*row).endCount), "hour_usage": collect(&got.Sums.Hours, (*row).usage),
		"day_usage": collect(&got.Sums.Days, (*row).usage), "task_usage": collect(&got.Sums.TaskUsage, (*row).usage),
		"node_usage": collect(&got.Nodes, (*row).usage)} {
		if err := askAll(t.Context(), tx, name, fn); err != nil {
			t.Fatal(name, err)
		}
	}
	got.Sums.Shares = slices.DeleteFunc(got.Sums.Shares, func(c ShareCount) bool { return countsNothing(c) })
	return got
}

// differ is how tables are different, whatever the order of their rows.
func differ(want, got tables) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(Lease{}, Attempt{}),
		cmpopts.SortSlices(func(a, b Lease) bool { return a.Job < b.Job }),
		cmpopts.SortSlices(func(a, b Range) bool { return a.High < b.High }),
		cmpopts.SortSlices(func(a, b Over) bool { return a.High < b.High }), cmpopts.SortSlices(func(a, b int64) bool { return a < b }),
		cmpopts.SortSlices(func(a, b Attempt) bool { return show(a) < show(b) }),
		cmpopts.SortSlices(func(a, b entry.Expected) bool { return show(a) < show(b) }),
		cmpopts.SortSlices(func(a, b TaskCount) bool { return a.Task < b.Task }),
		cmpopts.SortSlices(func(a, b ShareCount) bool { return show(a) < show(b) }),
		cmpopts.SortSlices(func(a, b EndCount) bool { return show(a) < show(b) }),
		cmpopts.SortSlices(func(a, b Usage) bool { return show(a) < show(b) }))
}

// sound fails where Compare finds a difference.
func (f *fixture) sound(t *testing.T) {
	t.Helper()
	found, err := f.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		t.Error(d)
	}
	if t.Failed() {
		t.FailNow()
	}
}
