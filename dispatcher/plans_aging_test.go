package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// tenAnHour: a job gains ten points an hour, and never passes one of fifty points more.
func tenAnHour(p *shares.Plan) {
	p.Aging = &shares.Aging{Per: shares.Duration(time.Hour), Points: 10, Max: 50}
}

// older makes jobs as those that became ready so long before.
func (f *fixture) older(ids []int64, by time.Duration) {
	f.t.Helper()
	f.exec("UPDATE jobs SET created_at = created_at - $2::interval, place = place - $3 WHERE id = ANY ($1)", ids, by, by.Milliseconds())
}

// A job of low priority passes one of a higher priority after the stated time, never one that is max above it; no row
// is rewritten for that.
func TestAging(t *testing.T) {
	for _, c := range []struct {
		name     string
		waited   time.Duration
		priority int // of the new job; that of the old one is 0
		oldFirst bool
	}{
		{"not yet", 59 * time.Minute, 10, false},
		{"after the stated time", 61 * time.Minute, 10, true},
		{"twice the points, twice the time", 119 * time.Minute, 20, false},
		{"twice the points, after twice the time", 121 * time.Minute, 20, true},
		{"never by more than max", 1000 * time.Hour, 50, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{planned("A", tenAnHour)}, slots("q", 10))
			old := f.enqueue(batch{share: "A", n: 1})
			f.older(old, c.waited)
			recent := f.enqueue(batch{share: "A", n: 1, priority: c.priority})
			first, second := recent[0], old[0]
			if c.oldFirst {
				first, second = second, first
			}
			d := f.daemon()
			if a, b := pull1(t, d, "q").Job, pull1(t, d, "q").Job; a != first || b != second {
				t.Errorf("jobs %d, %d; want %d, %d (old: %d)", a, b, first, second, old[0])
			}
		})
	}
}

// Aging is switched on for a share with ready, leased and waiting jobs, and off again: the live jobs are placed anew, in
// windows that were read already too.
func TestAgingChanges(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 50))
	d := f.daemon()
	old := f.enqueue(batch{share: "A", n: 3})
	leased := pull1(t, d, "q")
	recent := f.enqueue(batch{share: "A", n: 3, priority: 10})
	f.exec("UPDATE jobs SET created_at = created_at - interval '2 hours' WHERE id = ANY ($1)", old)
	if n := step(t, d.Reorder); n != 0 {
		t.Fatalf("looked at %d jobs although no share has aging", n)
	}
	aging := func(live int, plan func(*shares.Plan)) {
		f.apply(func(v *shares.Version) {
			tree, err := shares.Build([]shares.Spec{planned("A", plan), node("B", 1)})
			if err != nil {
				t.Fatal(err)
			}
			ids := v.Tree
			tree.SetIDs(func(path string) shares.ShareID { i, _ := ids.ByPath(path); return ids.Nodes[i].ID })
			v.Tree = tree
		})
		if n := step(t, d.Reorder); n != live {
			t.Errorf("looked at %d jobs, want %d", n, live)
		}
		if n := step(t, d.Reorder); n != 0 {
			t.Errorf("looked at %d jobs once more", n)
		}
		step(t, d.Refresh) // a grant by the limits of before puts its jobs back for a moment
	}
	aging(6, tenAnHour)
	finish(t, d, Failed, leased) // it comes back to where its age puts it
	f.recount()
	for i, want := range []int64{old[0], old[1], old[2], recent[0]} {
		if l := pull1(t, d, "q"); l.Job != want {
			t.Errorf("pull %d: job %d, want %d: the older ones first", i, l.Job, want)
		}
	}
	more := f.enqueue(batch{share: "A", n: 1, priority: 20})
	f.exec("UPDATE jobs SET created_at = created_at - interval '2 hours' WHERE id = ANY ($1)", recent)
	aging(7, func(*shares.Plan) {})
	var wrong int
	f.scan(&wrong, "SELECT count(*) FROM jobs WHERE place <> -priority")
	if wrong != 0 {
		t.Errorf("%d jobs have a place by aging still", wrong)
	}
	if l := pull1(t, d, "q"); l.Job != more[0] {
		t.Errorf("job %d, want %d: by priority again", l.Job, more[0])
	}
	f.recount()
}
