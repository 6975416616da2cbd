package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// patience is for how many seconds a lock may be waited for, or held, and a snapshot be open, before that is trouble.
type patience struct {
	waitWarn, waitBad         float64
	holdWarn                  float64
	snapshotWarn, snapshotBad float64
}

var usualPatience = patience{waitWarn: 5, waitBad: 30, holdWarn: 120, snapshotWarn: 5 * 60, snapshotBad: 3600}

type advisoryRow struct {
	Class   int64
	ID      int64
	Granted bool
	PID     int32
	Name    string
	State   string
	SinceS  float64
}

func (r advisoryRow) who() string { return fmt.Sprintf("session %d (%s, %s)", r.PID, r.Name, r.State) }

type waitingRow struct {
	PID    int32
	Name   string
	SinceS float64
	Behind []string
}

// locks is about sessions that keep others waiting.
func (d *Doctor) locks(ctx context.Context) (found []Finding, err error) {
	if !d.server.ReadsAll {
		found = append(found, Finding{Level: Warn, Found: "sessions of other roles are not seen whole: locks and snapshots that they hold may be missing here",
			Do: "GRANT pg_read_all_stats TO divvy's role"})
	}
	all, err := pg.Collect[advisoryRow](ctx, d.cfg.Direct, query["advisory"])
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		name := pg.LockName(int32(l.Class))
		switch {
		case !l.Granted && l.SinceS >= d.patience.waitWarn:
			f := Finding{Level: Warn, Found: fmt.Sprintf("%s waits for the lock %s since %s, held by %s", l.who(), name, seconds(l.SinceS), holders(all, l)),
				Do: "if its holder does not end by itself: SELECT pg_terminate_backend(pid) of that one"}
			if l.SinceS >= d.patience.waitBad {
				f.Level = Bad
			}
			found = append(found, f)
		case l.Granted && l.SinceS >= d.patience.holdWarn:
			found = append(found, Finding{Level: Warn, Found: fmt.Sprintf("%s holds the lock %s since %s", l.who(), name, seconds(l.SinceS)),
				Do: fmt.Sprintf("look at what it does; SELECT pg_terminate_backend(%d) ends it, and loses nothing", l.PID)})
		}
	}
	waiting, err := pg.Collect[waitingRow](ctx, d.cfg.Direct, query["waiting"], pgx.StrictNamedArgs{"least_s": d.patience.waitWarn})
	if err != nil {
		return nil, err
	}
	for _, w := range waiting {
		f := Finding{Level: Warn, Found: fmt.Sprintf("a statement of session %d (%s) waits since %s behind %s", w.PID, w.Name, seconds(w.SinceS), strings.Join(w.Behind, ", ")),
			Do: "if that one does not end by itself: SELECT pg_terminate_backend(pid)"}
		if w.SinceS >= d.patience.waitBad {
			f.Level = Bad
		}
		found = append(found, f)
	}
	return found, nil
}

// holders are the sessions that others wait for.
func holders(all []advisoryRow, w advisoryRow) string {
	var names []string
	for _, l := range all {
		if l.Granted && l.Class == w.Class && l.ID == w.ID {
			names = append(names, l.who())
		}
	}
	if len(names) == 0 {
		return "nobody any more"
	}
	return strings.Join(names[:min(3, len(names))], ", ")
}

type snapshotRow struct {
	Who    string
	Xids   *int64
	SinceS *float64
}

// snapshots is about what keeps dead rows from being removed.
func (d *Doctor) snapshots(ctx context.Context) (found []Finding, err error) {
	all, err := pg.Collect[snapshotRow](ctx, d.cfg.Direct, query["snapshots"])
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		do := "end it, or its owner's session: SELECT pg_terminate_backend(pid)"
		switch {
		case s.SinceS == nil && strings.HasPrefix(s.Who, "unused"):
			found = append(found, Finding{Level: Bad, Found: fmt.Sprintf("an %s keeps what died in the last %d transactions", s.Who, number(s.Xids)),
				Do: "drop it, unless its replica comes back: SELECT pg_drop_replication_slot(name)"})
		case s.SinceS == nil: // a replica that follows; what its own sessions hold is seen there
		case *s.SinceS >= d.patience.snapshotBad:
			found = append(found, Finding{Level: Bad, Found: fmt.Sprintf("%s holds a snapshot since %s: %d transactions", s.Who, seconds(*s.SinceS), number(s.Xids)), Do: do})
		case *s.SinceS >= d.patience.snapshotWarn:
			found = append(found, Finding{Level: Warn, Found: fmt.Sprintf("%s holds a snapshot since %s: %d transactions", s.Who, seconds(*s.SinceS), number(s.Xids)), Do: do})
		}
	}
	return found, nil
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
