package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Secure makes what was read before as safe as a commit that was answered. Where a commit waits for a synchronous standby and
// the wait is broken off (the daemon's time limit, a connection that broke), PostgreSQL shows it though the standby may not
// have it: an answer out of such rows alone would promise what a failover can lose. It costs a commit, so it is for
// answers to repeats, once for all that were looked up together. It waits where there is no standby to wait for
// too: then for the disk, as any commit. In a transaction it is the commit that waits, so one that locks a row or writes
// anything needs nothing of the kind.
func Secure(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}) error {
	// A few bytes in the log, behind all that was visible before. It changes no table, needs no right, and has no reader.
	if _, err := db.Exec(ctx, "SELECT pg_logical_emit_message(true, 'divvy'::text, ''::text)"); err != nil {
		return fmt.Errorf("secure what was read: %w", err)
	}
	return nil
}
