package doctor

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// Level says how bad a finding is.
type Level string

// OK is as it should be, Warn is trouble to come or a promise that is weaker than it looks, Bad is trouble now.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Config is what the doctor needs to know.
type Config struct {
	Direct      *pgxpool.Pool                                                   // keeps its sessions; two connections at least
	Pool        *pgxpool.Pool                                                   // what daemons use, maybe through a pooler; nil: Direct
	Site        func(ctx context.Context, number int64) (shares.Version, error) // a version of the site; nil: none is needed
	Clock       func(ctx context.Context, address string) (time.Time, error)    // of a daemon, within a second; nil: not asked
	Connections int                                                             // of a daemon, at the most
	Silent      time.Duration                                                   // after which a daemon is taken for dead
	Keep        upkeep.Keep
	Deep        bool // read whole tables too
	Log         *slog.Logger
}

// Finding is what one check came to.
type Finding struct {
	Check    string `json:"check"`              // what was looked at
	Level    Level  `json:"level"`              // ok, warn or bad
	Found    string `json:"found"`              // what was found
	Do       string `json:"do,omitempty"`       // what to do about it
	Repair   string `json:"repair,omitempty"`   // what --repair --yes would do
	Repaired string `json:"repaired,omitempty"` // what it has done

	fix func(context.Context) (string, error)
}

// Report is what a look came to.
type Report struct {
	At       time.Time `json:"at"`
	Level    Level     `json:"level"` // of the worst finding that was not repaired
	Findings []Finding `json:"findings"`
	LeftOut  []string  `json:"left_out,omitempty"` // checks that read whole tables
}

// Doctor looks at one database.
type Doctor struct {
	cfg      Config
	patience patience
	server   server
	daemons  []daemon
}

// New makes one.
func New(cfg Config) *Doctor {
	if cfg.Pool == nil {
		cfg.Pool = cfg.Direct
	}
	return &Doctor{cfg: cfg, patience: usualPatience}
}

// check is one thing to look at. It returns nothing when all is well: well says that then.
type check struct {
	name string
	well string
	deep bool
	run  func(context.Context) ([]Finding, error)
}

func (d *Doctor) checks() []check {
	return []check{
		{name: "migrations", well: "the schema is that of this binary", run: d.migrations},
		{name: "schema", well: "nothing of it is missing", run: d.schema},
		{name: "sessions", well: "connections keep their sessions: LISTEN and session locks work", run: d.sessions},
		{name: "durability", well: "what was answered is on disk", run: d.durability},
		{name: "connections", well: "there are connections for all daemons", run: d.connections},
		{name: "daemons", well: "all daemons were heard of lately", run: d.alive},
		{name: "clocks", well: "clocks agree", run: d.clocks},
		{name: "locks", well: "nobody waits for a lock, or holds one for long", run: d.locks},
		{name: "snapshots", well: "nothing keeps dead rows from being removed", run: d.snapshots},
		{name: "autovacuum", well: "it is on, for every table", run: d.autovacuum},
		{name: "bloat", well: "tables that change all the time have few dead rows", run: d.bloat},
		{name: "indexes", well: "all are in use, nothing is unlogged", run: d.broken},
		{name: "partitions", well: "the days to come have theirs", run: d.partitions},
		{name: "retention", well: "days that are over have gone", run: d.retention},
		{name: "room", well: "there is room for the batches and jobs to come", run: d.room},
		{name: "log", well: "a daemon leads and appends", run: d.appended},
		{name: "fold", well: "the tables have what the log says", run: d.folded},
		{name: "outbox", well: "the log has taken all that was written for it", run: d.outbox},
		{name: "recount", well: "the tables are what the log comes to, from its beginning", deep: true, run: d.recount},
		{name: "orphans", well: "every lease has its job", deep: true, run: d.orphans},
	}
}

// Examine looks, and changes nothing.
func (d *Doctor) Examine(ctx context.Context) (*Report, error) {
	var err error
	if d.server, err = pg.Row[server](ctx, d.cfg.Direct, query["server"]); err != nil {
		return nil, err
	}
	r := &Report{At: d.server.Now, Level: OK}
	r.add(d.server.finding())
	for _, c := range d.checks() {
		if c.deep && !d.cfg.Deep {
			r.LeftOut = append(r.LeftOut, c.name)
			continue
		}
		found, err := c.run(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case err != nil:
			found = append(found, failed(err))
		case len(found) == 0:
			found = []Finding{{Level: OK, Found: c.well}}
		}
		for _, f := range found {
			f.Check = c.name
			r.add(f)
		}
	}
	return r, nil
}

// failed is the finding of a check that could not be made.
func failed(err error) Finding {
	switch pg.Code(err) {
	case codeNoTable:
		return Finding{Level: Bad, Found: "could not be checked: a table is missing", Do: "divvy migrate up, with the divvy that the daemons are"}
	case pg.CodeQueryCanceled:
		return Finding{Level: Warn, Found: "could not be checked within the time for one statement: " + err.Error(), Do: "repeat it when the database has less to do"}
	}
	return Finding{Level: Bad, Found: "could not be checked: " + err.Error()}
}

const codeNoTable = "42P01"

// worse orders levels.
var worse = map[Level]int{OK: 0, Warn: 1, Bad: 2}

func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	r.Level = worst(r.Level, f.Level)
}

func worst(a, b Level) Level {
	if worse[b] > worse[a] {
		return b
	}
	return a
}

// Repairable says whether anything in the report can be repaired.
func (r *Report) Repairable() bool {
	for _, f := range r.Findings {
		if f.fix != nil {
			return true
		}
	}
	return false
}

// Repair does what the findings say that it would, one after the other, and notes what came of it, in the audit too, as done by the caller of
// ctx. The first that fails ends it.
func (r *Report) Repair(ctx context.Context, db *pgxpool.Pool) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.fix == nil {
			continue
		}
		done, err := f.fix(ctx)
		if err == nil {
			err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
				return access.Record(ctx, tx, access.Change{What: "doctor.repair", Object: f.Check, After: done})
			})
		}
		if err != nil {
			return fmt.Errorf("repair of %s: %w", f.Check, err)
		}
		f.Repaired = done
	}
	r.Level = OK
	for _, f := range r.Findings {
		if f.Repaired == "" {
			r.Level = worst(r.Level, f.Level)
		}
	}
	return nil
}

// seconds is for people.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
