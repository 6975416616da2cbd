package dispatcher

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// decisionOfJob is what explain and the view have of the decision that started a job.
func (f *fixture) decisionOfJob(d *Dispatcher, job int64) (g *Decision, view recordedLevels) {
	f.t.Helper()
	e, err := d.Explain(f.t.Context(), job)
	if err != nil || e.Decision == nil || !e.Decision.Recorded {
		f.t.Fatalf("job %d: %+v, %v", job, e.Decision, err)
	}
	rows, err := f.pool.Query(f.t.Context(), `SELECT pull, attempt, level_deficits_units::float8[] AS levels, skipped, skipped_for
		FROM report.decisions WHERE job_id = $1`, job)
	if err != nil {
		f.t.Fatal(err)
	}
	if view, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[recordedLevels]); err != nil {
		f.t.Fatal(err)
	}
	return e.Decision, view
}

type recordedLevels struct {
	Pull       *int64
	Attempt    *int
	Levels     []float64
	Skipped    []string
	SkippedFor []string
}

// Four pulls on a tree of three levels, with figures worked out by hand. All want everything: the target of a node is its
// part by weight of its parent's.
func TestLevelsOfADecision(t *testing.T) {
	f := newFixture(t, []shares.Spec{
		node("A", 3, node("x", 1, node("i", 2), node("j", 1)), node("y", 1, node("k", 1))),
		node("B", 1, node("z", 1, node("l", 1)))}, slots("q", 60))
	d := f.daemon()
	for _, leaf := range []string{"A/x/i", "A/x/j", "A/y/k", "B/z/l"} {
		f.enqueue(batch{share: leaf, n: 60})
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		winner, second string
		levels         []float64
		parted         int
		secondDeficit  float64
	}{
		// R = 1: A 3/4 of it, x half of that, i two thirds.
		{"A/x/i", "A/x/j", []float64{0.75, 0.375, 0.25}, 3, 0.125},
		// R = 2: A 1.5 - 1 and B 0.5 - 0 are equal, and B was never served.
		{"B/z/l", "A/y/k", []float64{0.5, 0.5, 0.5}, 1, 0.5},
		// R = 3: A 2.25 - 1, B 0.75 - 1; x 1.125 - 1, y 1.125 - 0.
		{"A/y/k", "A/x/j", []float64{1.25, 1.125, 1.125}, 2, 0.125},
		// R = 4: A 3 - 2, B 1 - 1; x and y 1.5 - 1, x longer ago; i 1 - 1, j 0.5 - 0.
		{"A/x/j", "A/x/i", []float64{1, 0.5, 0.5}, 3, 0},
	} {
		l := pull1(t, d, "q")
		if _, err := d.Record(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, view := f.decisionOfJob(d, l.Job)
		if g.Record.Winner != want.winner || g.Record.RunnerUp != want.second || g.Record.Parted != want.parted || len(g.Levels) != 3 {
			t.Fatalf("pull %d: %+v", i, g.Record)
		}
		for k, level := range g.Levels {
			second := want.levels[k]
			if k == want.parted-1 {
				second = want.secondDeficit
			}
			switch {
			case !close6(level.Deficit, want.levels[k]), (k < want.parted) != (level.RunnerUpDeficit != nil),
				k < want.parted && !close6(level.RunnerUpDeficit, second), !close6(&view.Levels[k], want.levels[k]):
				t.Errorf("pull %d, level %d: %+v, view %v; want %v and %v", i, k+1, level, view.Levels, want.levels[k], second)
			}
		}
		if g.Record.Pull != int64(i+1) || *view.Pull != int64(i+1) || *view.Attempt != 1 || len(view.Skipped) != 0 || view.SkippedFor == nil {
			t.Errorf("pull %d: %d, %+v", i, g.Record.Pull, view)
		}
	}
}

func close6(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-6 }

// Who stood before the winner and was skipped is named, in turn, with the reason.
func TestSkippedBefore(t *testing.T) {
	m := node("M", 1)
	m.Plan.Max = shares.Of(1000)
	f := newFixture(t, []shares.Spec{node("A", 20), m, owner("N", 1, "all", "none"), node("W", 1), owner("X", 59, "all", "all"), node("Y", 1)},
		slots("q", 60))
	d := f.daemon()
	for _, b := range []batch{{share: "M", n: 1}, {share: "N", n: 1}, {share: "W", n: 13}, {share: "X", n: 20}, {share: "Y", n: 16}} {
		f.holding(d, b.share, b.n)
	}
	// X owns 59 of the 60 slots. At R = 53 A gets 3 of what X lends, M 1, W and Y 12.5 each: A and X are 3 below their targets,
	// M and N are at theirs, W is half a unit above it, and Y, which is not named, by 3.5.
	for _, leaf := range []string{"A", "X", "Y"} {
		f.enqueue(batch{share: leaf, n: 3, need: job.Requirements{MemoryMB: 2000}})
	}
	for _, leaf := range []string{"M", "N", "W"} {
		f.enqueue(batch{share: leaf, n: 3})
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	reply, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 2, MemoryMB: 1000}, Max: 2, WaitS: 5})
	if err != nil || len(reply.Leases) != 2 || reply.Leases[0].Share != "W" {
		t.Fatalf("%+v, %v", reply, err)
	}
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []Skipped{{Share: "A", Reason: "unfit"}, {Share: "X", Reason: "unfit"}, {Share: "M", Reason: "max"}, {Share: "N", Reason: "borrow"}}
	pulls := map[int64]bool{}
	for _, l := range reply.Leases {
		g, view := f.decisionOfJob(d, l.Job)
		if diff := cmp.Diff(want, g.Record.Skipped); diff != "" || g.Record.Unfit != 3 || g.Record.Barred != 2 {
			t.Errorf("%+v: (-want +got)\n%s", g.Record, diff)
		}
		if diff := cmp.Diff([]string{"A", "X", "M", "N", "unfit", "unfit", "max", "borrow"}, append(view.Skipped, view.SkippedFor...)); diff != "" {
			t.Errorf("view (-want +got):\n%s", diff)
		}
		pulls[g.Record.Pull] = true
	}
	if len(pulls) != 1 {
		t.Errorf("the leases of one pull say %v", pulls)
	}
}

// A record of a daemon of the version before can be read: it has the deficits of one level, and no names.
func TestRecordOfTheVersionBefore(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "Prod/MC", n: 4})
	l := pull1(t, d, "q")
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.exec(`UPDATE decisions SET pull = 0, pulls = '{}', attempts = '{}', level_deficits = '{}', depths = '{}',
		skipped_ids = '{}', skipped_words = '', skips = '{}'`)
	g, view := f.decisionOfJob(d, l.Job)
	if g.Record.Pull != 0 || g.Levels[0].Deficit != nil || !close6(g.Levels[1].Deficit, 1) || g.Record.Skipped != nil {
		t.Errorf("%+v %+v", g.Record, g.Levels)
	}
	if view.Pull != nil || view.Attempt != nil || view.Levels != nil || view.Skipped != nil || view.SkippedFor != nil {
		t.Errorf("%+v", view)
	}
}
