package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/pg"
)

// Rows that are dead: fewer than fewDead are nothing; as many as live ones, a vacuum that is behind; ten times as many, one
// that does not come.
const fewDead = 50_000

// A table may be older by transactions than autovacuum lets it be, for as long as that runs.
const (
	xidsWarn = 600_000_000
	xidsBad  = 1_200_000_000
)

type tableRow struct {
	Name       string
	Live       int64
	Dead       int64
	Bytes      int64
	VacuumedS  *float64
	Autovacuum bool
}

// autovacuum is about tables that it does not visit, and transaction ids that run out.
func (d *Doctor) autovacuum(ctx context.Context) (found []Finding, err error) {
	if !d.server.Autovacuum || !d.server.TrackCounts {
		found = append(found, Finding{Level: Bad, Found: "autovacuum or track_counts is off: tables grow for ever",
			Do: "ALTER SYSTEM RESET autovacuum; ALTER SYSTEM RESET track_counts; SELECT pg_reload_conf();"})
	}
	tables, err := pg.Collect[tableRow](ctx, d.cfg.Direct, query["tables"])
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if !t.Autovacuum {
			found = append(found, Finding{Level: Bad, Found: "autovacuum is off for " + t.Name, Do: "ALTER TABLE " + t.Name + " RESET (autovacuum_enabled);"})
		}
	}
	if d.server.Xids > max(xidsWarn, d.server.FreezeMaxAge*3/2) {
		f := Finding{Level: Warn, Found: fmt.Sprintf("the oldest transaction id of the database is %d transactions old; at two billion PostgreSQL stops", d.server.Xids),
			Do: "look for what holds a snapshot (above), then VACUUM (FREEZE)"}
		if d.server.Xids > xidsBad {
			f.Level = Bad
		}
		found = append(found, f)
	}
	return found, nil
}

func (d *Doctor) bloat(ctx context.Context) (found []Finding, err error) {
	tables, err := pg.Collect[tableRow](ctx, d.cfg.Direct, query["tables"])
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.Dead < fewDead || t.Dead < t.Live {
			continue
		}
		when := "never vacuumed"
		if t.VacuumedS != nil {
			when = "vacuumed " + seconds(*t.VacuumedS) + " ago"
		}
		f := Finding{Level: Warn, Found: fmt.Sprintf("%s has %d dead rows beside %d live ones, %d MB, %s", t.Name, t.Dead, t.Live, t.Bytes>>20, when),
			Do: "look for what holds a snapshot (above); else VACUUM " + t.Name + ";"}
		if t.Dead > 10*max(t.Live, fewDead) {
			f.Level = Bad
		}
		found = append(found, f)
	}
	return found, nil
}

type brokenRow struct {
	Name     string
	OfTable  string
	Unlogged bool
}

// broken is about indexes that are not used, and what a crash empties.
func (d *Doctor) broken(ctx context.Context) (found []Finding, err error) {
	all, err := pg.Collect[brokenRow](ctx, d.cfg.Direct, query["broken"])
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		switch {
		case b.OfTable == "":
			found = append(found, Finding{Level: Bad, Found: "table " + b.Name + " is unlogged: a crash empties it", Do: "ALTER TABLE " + b.Name + " SET LOGGED;"})
		case !b.Unlogged:
			found = append(found, Finding{Level: Bad, Found: fmt.Sprintf("index %s of %s was not built to the end, and is not used", b.Name, b.OfTable),
				Do: "REINDEX INDEX CONCURRENTLY " + b.Name + ";"})
		}
	}
	return found, nil
}

type dayRow struct {
	Name    string
	Missing []int32
	Oldest  int
}

// days reads the tables that have a partition a day, by name.
func (d *Doctor) days(ctx context.Context) (rows []dayRow, kept map[string]int, err error) {
	kept = map[string]int{}
	var names []string
	var aheads []int32
	for _, t := range upkeep.DayTables(d.cfg.Keep) {
		names, aheads, kept[t.Name] = append(names, t.Name), append(aheads, int32(t.Ahead)), int(t.Keep/(24*time.Hour))
	}
	rows, err = pg.Collect[dayRow](ctx, d.cfg.Direct, query["days"], pgx.StrictNamedArgs{"tables": names, "aheads": aheads})
	return rows, kept, err
}

// partitions is about days that have none.
func (d *Doctor) partitions(ctx context.Context) (found []Finding, err error) {
	rows, _, err := d.days(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range rows {
		if len(t.Missing) == 0 {
			continue
		}
		f := Finding{Level: Warn, Found: fmt.Sprintf("%s has no partition for %s", t.Name, dayNames(t.Missing)),
			Do: "daemons make them every 10 min; look for step days-ahead in their logs, and for who holds the table", Repair: "make the partitions of today and the next days"}
		switch today := slices.Contains(t.Missing, 0); {
		case today:
			f.Level, f.Found = Bad, f.Found+": none can be written"
		case slices.Contains(t.Missing, 1):
			f.Found += ": it is due soon"
		}
		f.fix = d.makeRoom
		found = append(found, f)
	}
	return found, nil
}

// makeRoom makes all partitions that a daemon makes at its start.
func (d *Doctor) makeRoom(ctx context.Context) (string, error) {
	n, err := dispatcher.Room(ctx, d.cfg.Direct, d.cfg.Keep)
	return fmt.Sprintf("%d partitions made", n), err
}

func dayNames(ahead []int32) string {
	names := make([]string, len(ahead))
	for i, n := range ahead {
		switch n {
		case 0:
			names[i] = "today"
		case 1:
			names[i] = "tomorrow"
		default:
			names[i] = fmt.Sprintf("in %d days", n)
		}
	}
	return strings.Join(names, ", ")
}

// retention is about days that are kept for longer than was said.
func (d *Doctor) retention(ctx context.Context) (found []Finding, err error) {
	rows, kept, err := d.days(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range rows {
		if keep := kept[t.Name]; keep > 0 && t.Oldest > keep+2 {
			found = append(found, Finding{Level: Warn, Found: fmt.Sprintf("the oldest day of %s ended %d days ago, and %d are kept", t.Name, t.Oldest, keep),
				Do: "look whether a report holds the table (locks), and for step old-history or old-samples in the daemons' logs; say to divvy doctor what they have for keep_history, keep_decisions and keep_samples"})
		}
	}
	return found, nil
}
