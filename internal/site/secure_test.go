package site

import (
	"context"
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// The wait of a change for the standby is broken off: the primary shows it, and the standby may not have it. Asked for again it
// changes nothing, and is not answered before the standby has what it says is in force.
func TestRepeatedChangesWaitForTheStandby(t *testing.T) {
	l := pgtest.NewLonely(t)
	b := newBenchOn(t, l.Pool)
	file := with("resources: [{name: maya, capacity: 4}]")
	b.apply(file)
	next := file + "# another one\n"
	later, six := b.later(file, 2), int64(6)
	l.Standby("nobody")
	for _, change := range []struct {
		name string
		ask  func(context.Context) error
	}{
		{"a site file", func(ctx context.Context) error {
			_, err := b.Apply(ctx, ApplyRequest{Source: []byte(next), By: "alice"})
			return err
		}},
		{"the state of a queue", func(ctx context.Context) error { return b.SetQueueState(ctx, "q", shares.Drain) }},
		{"a capacity", func(ctx context.Context) error {
			return b.SetResourceCapacity(ctx, SetCapacity{Resource: "maya", Capacity: &six, By: "ann"})
		}},
		{"taking back a file", func(ctx context.Context) error { _, err := b.CancelLater(ctx, later.ID, "ann"); return err }},
	} {
		for n := range 2 {
			l.BreakOff(fmt.Sprintf("%s, time %d", change.name, n+1), change.ask)
		}
	}
	// A rehearsal promises nothing.
	if a, err := b.Apply(t.Context(), ApplyRequest{Source: []byte(next), DryRun: true}); err != nil || !a.Unchanged {
		t.Fatalf("a dry run: %+v, %v", a, err)
	}
	l.Standby("")
	if a := b.apply(next); !a.Unchanged || a.Version != 2 {
		t.Fatalf("applied again: %+v, want version 2 as it is", a)
	}
	if q := b.load().Queues[0]; q.State != shares.Drain {
		t.Fatalf("queue %s is %s", q.Name, q.State)
	}
}
