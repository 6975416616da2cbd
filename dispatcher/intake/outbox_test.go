package intake_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pg"
)

// Rows are read in the order of their ids, page by page, taken exactly once or refused.
func TestOutbox(t *testing.T) {
	h := newHouse(t, 100, 100)
	ctx := t.Context()
	for task := range int64(5) {
		h.in(t, func(tx pgx.Tx) error { return intake.Pause(ctx, tx, task+1, task+11) })
	}
	h.in(t, func(tx pgx.Tx) error { return intake.Pause(ctx, tx) }) // nothing
	first, err := intake.Pending(ctx, h, 0, 3)
	if err != nil || len(first) != 3 || len(first[0].Entries) != 2 || first[2].Entries[1] != (entry.Paused{Task: 13}) || time.Since(first[0].MadeAt) > time.Hour {
		t.Fatalf("%+v, %v", first, err)
	}
	next, err := intake.Pending(ctx, h, first[2].ID, 3)
	if err != nil || len(next) != 2 || next[0].Entries[0] != (entry.Paused{Task: 4}) {
		t.Fatalf("%+v, %v", next, err)
	}
	take := func(ids ...int64) error {
		return pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error { return intake.Take(ctx, tx, ids) })
	}
	if err := take(first[0].ID, first[1].ID); err != nil {
		t.Fatal(err)
	}
	if err := take(first[1].ID, first[2].ID); !errors.Is(err, intake.ErrGone) {
		t.Errorf("%v: a row was taken before", err)
	}
	if err := intake.Refuse(ctx, h, first[2].ID, "no such task"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"refused twice": intake.Refuse(ctx, h, first[2].ID, "again"), "refused and gone": intake.Refuse(ctx, h, first[0].ID, "gone"),
		"taken and refused": take(first[2].ID)} {
		if !errors.Is(err, intake.ErrGone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all, err := intake.Refusals(ctx, h, 10); err != nil || len(all) != 1 || all[0].Reason != "no such task" || !strings.Contains(all[0].Entries, "13") {
		t.Errorf("%+v, %v", all, err)
	}
	if left, err := intake.Pending(ctx, h, 0, 10); err != nil || len(left) != 2 || left[0].ID != next[0].ID {
		t.Errorf("%+v, %v: the two rows after those taken and refused", left, err)
	}
	h.exec(`INSERT INTO outbox (entries) VALUES ('[{"?": {}}]')`)
	if left, err := intake.Pending(ctx, h, 0, 10); err != nil || len(left) != 3 || left[1].Err != nil || !errors.Is(left[2].Err, ledger.ErrUnknown) {
		t.Errorf("%+v, %v: a row of a newer version says so, and keeps no other back", left, err)
	}
}

// Of two that take the same rows one gets them, once the other has committed or rolled back.
func TestTakeIsExclusive(t *testing.T) {
	for _, commits := range []bool{true, false} {
		h := newHouse(t, 100, 100)
		ctx := t.Context()
		h.in(t, func(tx pgx.Tx) error { return intake.Pause(ctx, tx, 1) })
		rows, err := intake.Pending(ctx, h, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		ids := []int64{rows[0].ID}
		tx, err := h.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := intake.Take(ctx, tx, ids); err != nil {
			t.Fatal(err)
		}
		second := make(chan error)
		go func() {
			second <- pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error { return intake.Take(ctx, tx, ids) })
		}()
		for one[int](t, h, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 0 {
			time.Sleep(time.Millisecond)
		}
		if commits {
			err = tx.Commit(ctx)
		} else {
			err = tx.Rollback(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := <-second; errors.Is(err, intake.ErrGone) != commits || !commits && err != nil {
			t.Errorf("the first commits: %v, the second: %v", commits, err)
		}
	}
}
