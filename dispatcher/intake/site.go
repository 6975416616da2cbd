package intake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// SetTargetSlots puts a limit or a floor in force, or with negative slots takes it back, and says whether that changed something. There may
// be both for the same. The log gets all that are in force, so that setting them goes one after the other.
func SetTargetSlots(ctx context.Context, tx pgx.Tx, t entry.Target) (changed bool, err error) {
	switch {
	case t.Queue == "":
		return false, job.Wrong("queue", `""`, "the name of a queue")
	case t.Class != "" && !slices.Contains(job.Classes, t.Class):
		return false, job.Wrong("class", fmt.Sprintf("%q", t.Class), "one of "+strings.Join(job.Classes, ", "))
	}
	for _, first := range []string{"lock_target_slots", "expire_target_slots"} {
		if _, err := tx.Exec(ctx, query[first]); err != nil {
			return false, fmt.Errorf("target slots: %w", err)
		}
	}
	verb, args := "remove_target_slots", pgx.StrictNamedArgs{"queue": t.Queue, "share": int32(t.Share), "class": t.Class, "floor": t.Floor}
	if t.Slots >= 0 {
		verb = "set_target_slots"
		args["slots"], args["expires_at"] = t.Slots, nil
		if !t.Until.IsZero() {
			args["expires_at"] = t.Until
		}
	}
	tag, err := tx.Exec(ctx, query[verb], args)
	if err != nil || tag.RowsAffected() == 0 {
		return false, pg.Named("target slots", err)
	}
	targets, err := Targets(ctx, tx)
	if err != nil {
		return false, err
	}
	return true, pg.Named("target slots", Say(ctx, tx, []entry.Entry{entry.Bounded{Targets: targets}}))
}

// Targets are all target slots and floors, those that have just ended among them.
func Targets(ctx context.Context, db pg.Querier) ([]entry.Target, error) {
	rows, err := pg.Collect[struct {
		Queue     string
		ShareID   shares.ShareID
		Class     string
		Slots     int
		ExpiresAt *time.Time
		Floor     bool
	}](ctx, db, query["target_slots"], pgx.StrictNamedArgs{})
	if err != nil {
		return nil, fmt.Errorf("target slots: %w", err)
	}
	targets := make([]entry.Target, len(rows))
	for i, r := range rows {
		targets[i] = entry.Target{Queue: r.Queue, Share: r.ShareID, Class: r.Class, Slots: r.Slots, Floor: r.Floor}
		if r.ExpiresAt != nil {
			targets[i].Until = r.ExpiresAt.UTC()
		}
	}
	return targets, nil
}

// Cap says which capacities of resources operators have set beside those of the site: all of them. The caller holds the lock of the site,
// so that two do not pass each other.
func Cap(ctx context.Context, tx pgx.Tx, all []entry.Capacity) error {
	for i, c := range all {
		field := fmt.Sprintf("capacities[%d].", i)
		switch {
		case c.Name == "":
			return job.Wrong(field+"name", `""`, "the name of a resource")
		case c.Units < 0 || c.Units > shares.MaxResourceUnits:
			return job.Wrong(field+"units", c.Units, fmt.Sprintf("a number of units, 0 … %d", shares.MaxResourceUnits))
		}
	}
	return Say(ctx, tx, []entry.Entry{entry.Capped{Capacities: all}})
}

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
	if err := Cap(ctx, tx, caps); err != nil {
		return err
	}
	return Adopt(ctx, tx, v.Number)
}

// Report notes what the server of a resource says: how many units there are, and how many of them are used, ours too as it sees them.
func Report(ctx context.Context, tx pgx.Tx, r entry.Reported) error {
	inside := func(n int64) bool { return n >= 0 && n <= shares.MaxResourceUnits }
	units := fmt.Sprintf("a number of units, 0 … %d", shares.MaxResourceUnits)
	switch {
	case r.Name == "":
		return job.Wrong("name", `""`, "the name of a resource")
	case !inside(r.Total):
		return job.Wrong("total", r.Total, units)
	case !inside(r.Used):
		return job.Wrong("used", r.Used, units)
	case !inside(r.Settled):
		return job.Wrong("settled", r.Settled, units)
	case r.At.IsZero():
		return job.Wrong("at", r.At, "when it was reported")
	}
	return Say(ctx, tx, []entry.Entry{r})
}

// Expect says how many jobs of shares and shapes generators have still to make: a number replaces the one that was said before, or comes on top.
func Expect(ctx context.Context, tx pgx.Tx, all ...entry.Expected) error {
	for i, e := range all {
		if e.Jobs < 0 {
			return job.Wrong(fmt.Sprintf("expected[%d].jobs", i), e.Jobs, "a number of jobs, 0 or more")
		}
	}
	return Say(ctx, tx, list(all, func(e entry.Expected) entry.Entry { return e }))
}
