package dispatcher

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// A daemon takes its first units of an epoch, and has not committed yet, when the limits are computed anew: that takes them
// back too. Commits that wait for a standby are in that state for long.
func TestTakeUnderWayAtRebase(t *testing.T) {
	f := limited(t, 6)
	f.enqueue(batch{share: "A", n: 20})
	d := f.open()
	ctx := context.Background()
	tx, err := f.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	for key, l := range d.state.limits {
		args := l.args()
		args["daemon"], args["need"], args["parts"], args["epoch"] = d.id, int64(1000), 1, d.state.epoch
		rows, _ := tx.Query(ctx, query["take"], args)
		if got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[takeRow]); err != nil || got.Amount != 6000 {
			t.Fatalf("%v: %+v %v", key, got, err)
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f.apply(func(*shares.Version) {})
	}()
	eventually(t, "the rebase waits for the take", func() (waits bool) {
		f.scan(&waits, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
		return waits
	})
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	<-over
	f.balanced(d)
	runs(t, d)
	takesAll(t, d, 6)
	f.balanced(d)
}
