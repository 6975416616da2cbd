package dispatcher

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// moveTask moves live jobs of a task, batch by batch, as generator.Reassign does it.
func (f *fixture) moveTask(m TaskMove) (sum TaskMoved) {
	f.t.Helper()
	for {
		err := beginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
			if err := Barrier(context.Background(), tx); err != nil {
				return err
			}
			got, err := MoveTask(context.Background(), tx, m)
			if err != nil {
				return err
			}
			sum.Waiting, sum.Ready, sum.Leased, sum.More = sum.Waiting+got.Waiting, sum.Ready+got.Ready, sum.Leased+got.Leased, got.More
			return Rebase(context.Background(), tx, f.version)
		})
		if err != nil {
			f.t.Fatal(err)
		}
		if !sum.More {
			return sum
		}
	}
}

func (f *fixture) shareID(path string) shares.ShareID {
	i, _ := f.version.Tree.ByPath(path)
	return f.version.Tree.Nodes[i].ID
}

// Jobs of a task go to another share while a daemon knows them under the old one; what is given next is charged right.
func TestMoveTask(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1), node("C", 1)}, slots("q", 100))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 12})
	f.enqueue(batch{share: "C", n: 12})
	var leases []Lease
	for range 8 { // half of each share's
		leases = append(leases, pull1(t, d, "q"))
	}
	if got := f.moveTask(TaskMove{Task: 1, To: f.shareID("B"), Limit: 3}); got.Ready != 8 || got.Leased != 0 || got.Waiting != 0 {
		t.Errorf("moved %+v", got)
	}
	f.recount()
	if held := f.heldBy(); held["A"] != 4 || held["C"] != 4 {
		t.Errorf("held %v", held)
	}
	if got := f.moveTask(TaskMove{Task: 1, To: f.shareID("B"), Limit: 3}); got != (TaskMoved{}) {
		t.Errorf("again: moved %+v", got)
	}
	if got := f.moveTask(TaskMove{Task: 1, To: f.shareID("B"), Running: true, Limit: 3}); got.Leased != 4 || got.Ready != 0 {
		t.Errorf("moved %+v", got)
	}
	f.recount()
	for range 16 { // all that is left
		leases = append(leases, pull1(t, d, "q"))
	}
	if held := f.heldBy(); held["A"] != 0 || held["B"] != 12 || held["C"] != 12 {
		t.Errorf("held %v", held)
	}
	noJob(t, d, "q")
	for _, v := range finish(t, d, Finished, leases...) {
		if v.Verdict != "recorded" {
			t.Errorf("%+v", v)
		}
	}
	f.recount()
	eventually(t, "the daemon counts nothing as held or ready", func() bool {
		for _, s := range d.Standing().Pools[0].Shares {
			if s.Held != 0 || s.Ready != 0 {
				return false
			}
		}
		return true
	})
}

// A running job that moved fails and comes back: it is ready under the new share, and only there.
func TestMovedJobComesBack(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1})
	lease := pull1(t, d, "q")
	if got := f.moveTask(TaskMove{Task: 1, To: f.shareID("B"), Running: true, Limit: 10}); got.Leased != 1 {
		t.Errorf("moved %+v", got)
	}
	finish(t, d, Failed, lease)
	f.recount()
	if again := pull1(t, d, "q"); again.Share != "B" {
		t.Errorf("came back under %s", again.Share)
	}
	f.recount()
}
