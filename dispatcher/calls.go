package dispatcher

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// What transactions of others call, see package intake. Whoever commits one of them says Written to a dispatcher.

// Barrier has the transaction wait until no other one makes or places jobs, and keeps these away until it ends. Whoever changes the site
// begins with it.
func Barrier(ctx context.Context, tx pgx.Tx) error { return intake.Barrier(ctx, tx) }

// Rebase puts a version of the site in force, whose shares are written, with the capacities that people have set beside it: the log has these,
// so that a replay goes by those of the time. The caller holds the Barrier.
func Rebase(ctx context.Context, tx pgx.Tx, v shares.Version) error {
	caps := []entry.Capacity{}
	for _, r := range v.Resources {
		for _, l := range r.Live {
			c := entry.Capacity{Name: r.Name, Key: l.Key, Units: l.Capacity}
			for _, q := range v.Queues {
				if q.Name == l.Queue {
					c.Queue = q.ID
				}
			}
			caps = append(caps, c)
		}
	}
	if err := intake.Cap(ctx, tx, caps); err != nil {
		return err
	}
	return intake.Adopt(ctx, tx, v.Number)
}

// MoveShare gives all live jobs and leases of one share to another: the site file said so. The caller holds the Barrier.
func MoveShare(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
	return intake.MoveShare(ctx, tx, from, to)
}

// Literal is the text that jobs get as it is: {{{{ stands for {{.
func Literal(text string) string { return job.Literal(text) }
