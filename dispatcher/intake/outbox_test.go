package intake_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// Rows are read in the order of their ids, but for those that were refused; what a newer version wrote waits for one.
func TestOutbox(t *testing.T) {
	h := newHouse(t, 100, 100)
	ctx, box := t.Context(), intake.NewOutbox(h.Pool)
	for task := range int64(5) {
		h.in(t, func(tx pgx.Tx) error { return intake.Pause(ctx, tx, task+1, task+11) })
	}
	h.in(t, func(tx pgx.Tx) error { return intake.Pause(ctx, tx) }) // nothing
	rows, err := box.Pending(ctx, 3)
	if err != nil || len(rows) != 3 || len(rows[0].Entries) != 2 || rows[2].Entries[1] != (entry.Paused{Task: 13}) {
		t.Fatalf("%+v, %v", rows, err)
	}
	h.exec("UPDATE outbox SET refused = 'no such task' WHERE id = $1", rows[1].ID)
	if left, err := box.Pending(ctx, 10); err != nil || len(left) != 4 || left[0].ID != rows[0].ID || left[1].ID != rows[2].ID {
		t.Errorf("%+v, %v: want all but the second row", left, err)
	}
	h.exec(`UPDATE outbox SET entries = '[{}]' WHERE id = $1`, rows[0].ID)
	h.exec(`UPDATE outbox SET entries = '[{"?": {}}]' WHERE id = $1`, rows[2].ID)
	if left, err := box.Pending(ctx, 10); err != nil || len(left) != 1 || !errors.Is(left[0].Err, ledger.ErrBroken) {
		t.Errorf("%+v, %v: want the row before that of a newer version, which is broken", left, err)
	}
	h.exec("DELETE FROM outbox WHERE id = $1", rows[0].ID)
	if left, err := box.Pending(ctx, 10); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("%+v, %v: want an error about the row of a newer version", left, err)
	}
}
