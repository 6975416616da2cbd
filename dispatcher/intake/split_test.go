package intake_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
)

// A job that waits for a split comes back with one half, where its task and priority are by now; a new job has the other half.
// One that was killed meanwhile does not come back.
func TestHalve(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	ctx, shape, bigger := t.Context(), h.shape(t, 1), h.shape(t, 2)
	ids := h.enqueue(t, intake.NewJob{Task: 1, Share: 1, Shape: shape, Priority: 5, MaxAttempts: 4, Index: 7, Inputs: []string{"a", "b", "c"}, FirstEvent: 3, Events: 30},
		intake.NewJob{Task: 1, Share: 1, Shape: shape, Priority: 5, MaxAttempts: 4, Index: 8, FirstEvent: 30, Events: 10},
		intake.NewJob{Task: 1, Share: 1, Shape: shape, Priority: 5, MaxAttempts: 4, Index: 9, Inputs: []string{"d"}},
		intake.NewJob{Task: 2, Share: 1, Shape: shape, MaxAttempts: 2})
	h.in(t, func(tx pgx.Tx) error {
		var all []intake.Waiting
		for _, id := range ids[:3] {
			all = append(all, intake.Waiting{Job: id, Task: 1, Shape: bigger, Attempt: 2})
		}
		return intake.AwaitSplit(ctx, tx, append(all, intake.Waiting{Job: ids[3], Task: 2, Shape: shape, Attempt: 2})...)
	})
	h.in(t, func(tx pgx.Tx) error {
		if err := intake.MoveTask(ctx, tx, intake.TaskMove{Task: 1, To: 2}); err != nil {
			return err
		}
		if err := intake.Prioritise(ctx, tx, 1, 6); err != nil {
			return err
		}
		return intake.Kill(ctx, tx, intake.Killing{}, 2)
	})
	h.said(t)
	h.in(t, func(tx pgx.Tx) error {
		found, err := intake.LockSplittings(ctx, tx, ids)
		if err != nil {
			return err
		}
		want := []intake.Splitting{{Job: ids[0], Task: 1, Share: 2, Shape: bigger, Priority: 6, Attempt: 2, MaxAttempts: 4, Index: 7, Inputs: []string{"a", "b", "c"}, FirstEvent: 3, Events: 30, User: "u1"},
			{Job: ids[1], Task: 1, Share: 2, Shape: bigger, Priority: 6, Attempt: 2, MaxAttempts: 4, Index: 8, FirstEvent: 30, Events: 10, User: "u1"},
			{Job: ids[2], Task: 1, Share: 2, Shape: bigger, Priority: 6, Attempt: 2, MaxAttempts: 4, Index: 9, Inputs: []string{"d"}, User: "u1"}}
		if diff := cmp.Diff(want, found, cmpopts.IgnoreFields(intake.Splitting{}, "CreatedAt")); diff != "" {
			t.Fatal(diff)
		}
		made, err := intake.Halve(ctx, tx, []intake.Halves{
			{Splitting: found[0], KeepInputs: 2, KeepEvents: 20, Rest: &intake.NewJob{Task: 1, Share: 2, Priority: 6, Index: 1000, Inputs: []string{"c"}, FirstEvent: 3, Events: 10}},
			{Splitting: found[1], KeepEvents: 5, Rest: &intake.NewJob{Task: 1, Share: 2, Priority: 6, Index: 1001, FirstEvent: 35, Events: 5}},
			{Splitting: found[2], KeepInputs: 1, Why: "it has one input"}})
		if want := []int64{5, 6}; !slices.Equal(made, want) {
			t.Errorf("made %v, want %v", made, want)
		}
		return err
	})
	back := func(id int64) entry.Entry {
		return entry.Enqueued{Task: 1, Share: 2, Shape: bigger, Place: -6, Low: id, High: id, Attempt: 2, User: "u1"}
	}
	h.says(t, []entry.Entry{back(1), back(2), back(3)}, []entry.Entry{entry.Enqueued{Task: 1, Share: 2, Shape: bigger, Place: -6, Low: 5, High: 6, Attempt: 1, User: "u1"}})
	got := one[string](t, h, "SELECT string_agg(j::text, ' ' ORDER BY id) FROM jobs j")
	if want := `(1,7,3,20,,"{a,b}",) (2,8,30,5,,,) (3,9,,,,{d},) (4,0,,,,,) (5,1000,3,10,,{c},) (6,1001,35,5,,,)`; got != want {
		t.Errorf("jobs %s\nwant %s", got, want)
	}
	if n := one[int](t, h, "SELECT max_attempts FROM job_blocks WHERE low = 5"); n != 3 {
		t.Errorf("the new halves have %d attempts, want the 3 that were left", n)
	}
	if n := one[int](t, h, "SELECT count(*) FROM splittings"); n != 0 {
		t.Errorf("%d jobs wait still", n)
	}
	h.in(t, func(tx pgx.Tx) error { made, err := intake.Halve(ctx, tx, nil); _ = made; return err })
	h.says(t)
}
