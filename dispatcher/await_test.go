package dispatcher

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/machine"
)

// readyJobs are the jobs of task 1 that the machine of a daemon has.
func (w *worker) readyJobs(t *testing.T) (n int64) {
	t.Helper()
	if err := w.eye.machine(t.Context(), func(m *machine.Machine) {
		n = m.View().Jobs()[1].Ready
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// Whoever made jobs and follows sees them, whichever daemon it is at, and also while there is none that leads yet.
func TestFollow(t *testing.T) {
	p := newPlace(t)
	p.jobs(3, "")
	first := p.start(1)
	if err := first.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := first.readyJobs(t); n != 3 {
		t.Errorf("%d jobs after the first daemon followed", n)
	}
	second := p.start(2)
	for i := range 5 {
		p.jobs(1, "")
		for _, w := range []*worker{second, first} {
			if err := w.Follow(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := w.readyJobs(t); n != int64(4+i) {
				t.Errorf("%d jobs after %d were made", n, 4+i)
			}
		}
	}
	if first.Leader() != 1 || second.Leader() != 1 || !first.Leads() || second.Leads() {
		t.Errorf("leaders %d and %d", first.Leader(), second.Leader())
	}
}

// A row that contradicts the log keeps nobody waiting, and a caller that leaves gets its own error.
func TestFollowGoesOn(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	p.in(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO outbox (entries) VALUES ('[]'::jsonb), ('{"kinds": "?"}')`)
		return err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.Follow(ctx); err != nil {
		t.Error(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := w.Follow(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v for a caller that left", err)
	}
}
