package upkeep

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Step is one kind of upkeep. Run returns how many partitions or rows it made or dropped.
type Step struct {
	Name  string
	Every time.Duration
	Run   func(ctx context.Context) (n int, err error)
}

// Config says what is kept for how long, and what upkeep asks of the rooms whose tables it tends. All fields but Needed are needed.
type Config struct {
	DB     *pgxpool.Pool
	Log    Log
	Keep   Keep
	Needed []Needed // who else reads old batches

	Folded  func(ctx context.Context) (seq int64, at time.Time, err error) // up to where the tables are made of the log
	Roll    func(ctx context.Context) error                                // adds history up to Folded to the sums by node
	History Retain                                                         // drops what is folded, not the sums
	Jobs    Retain                                                         // drops partitions of jobs that are all over
	Ahead   func(ctx context.Context) (n int, err error)                   // makes partitions of jobs
}

// Log is the log's partitions: a *ledger.Table.
type Log interface {
	Extend(ctx context.Context, room, size int64) (n int, err error)
	Retain(ctx context.Context, before time.Time, folded int64) (n int, err error)
}

// Retain drops what was over before a time, and returns how many partitions.
type Retain func(ctx context.Context, before time.Time) (n int, err error)

// Needed returns the last batch that its reader does without, where it asks for nothing from before a time. A reader that needs none says
// math.MaxInt64.
type Needed func(ctx context.Context, before time.Time) (seq int64, err error)

// Keep says for how long things are kept after they are over; 0: for ever.
type Keep struct {
	Log     time.Duration // batches, for replays
	History time.Duration // attempts, their texts, jobs and claims that are over
	Samples time.Duration // how shares stood
	Hours   time.Duration // sums by the hour
	Days    time.Duration // sums by the day
}

func (cfg Config) check() error {
	if cfg.DB == nil || cfg.Log == nil || cfg.Folded == nil || cfg.Roll == nil || cfg.History == nil || cfg.Jobs == nil || cfg.Ahead == nil {
		return errors.New("upkeep: Config needs DB, Log, Folded, Roll, History, Jobs and Ahead")
	}
	k := cfg.Keep
	if least := min(k.Log, k.History, k.Samples, k.Hours, k.Days); least < 0 {
		return fmt.Errorf("upkeep: something is kept for %s: it counts from 0, for ever", least)
	}
	if k.History > 0 && (k.Log == 0 || k.History < k.Log) {
		return fmt.Errorf("upkeep: history is kept for %s and the log for %s: a replay needs both, so history is kept for as long at least", k.History, k.Log)
	}
	return nil
}

// Room of the log that is made ahead, and the size of its partitions, in batches. A site that appends a hundred a second, which is more
// than any does, has room for hours, and 60 partitions a week: an append takes a microsecond for each of them.
const (
	LogRoom = 1_000_000
	LogSize = 1_000_000
)

// Steps lists all steps.
func Steps(cfg Config) ([]Step, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return append(cfg.room(),
		Step{"old log", time.Minute, cfg.oldLog},
		Step{"old history", time.Minute, cfg.oldHistory},
		Step{"old samples", time.Minute, cfg.oldDays},
		Step{"old jobs", time.Minute, func(ctx context.Context) (int, error) { return cfg.before(ctx, cfg.Keep.History, cfg.Jobs) }},
		Step{"old rows", time.Minute, cfg.oldRows},
		Step{"old reports", time.Minute, cfg.oldReports()},
		Step{"old refusals", time.Hour, cfg.oldRefusals},
		Step{"old daemons", time.Hour, cfg.oldDaemons},
		Step{"nodes", time.Minute, func(ctx context.Context) (int, error) { return 0, cfg.Roll(ctx) }},
	), nil
}

func (cfg Config) room() []Step {
	return []Step{
		{"log room", 30 * time.Second, func(ctx context.Context) (int, error) { return cfg.Log.Extend(ctx, LogRoom, LogSize) }},
		{"days ahead", 10 * time.Minute, cfg.daysAhead},
		{"jobs ahead", 30 * time.Second, cfg.Ahead},
	}
}

// Room makes all room that is missing. A daemon calls it before it writes.
func Room(ctx context.Context, cfg Config) (n int, err error) {
	if err := cfg.check(); err != nil {
		return 0, err
	}
	for _, s := range cfg.room() {
		made, failed := s.Run(ctx)
		n, err = n+made, cmp.Or(err, failed)
	}
	return n, err
}

// before runs what drops things from before a time; a keep of 0 drops nothing.
func (cfg Config) before(ctx context.Context, keep time.Duration, drop Retain) (n int, err error) {
	if keep == 0 {
		return 0, nil
	}
	var at time.Time
	if err := cfg.DB.QueryRow(ctx, query["past"], pg.Args{"ago_s": keep.Seconds()}).Scan(&at); err != nil {
		return 0, fmt.Errorf("the database's clock: %w", err)
	}
	return drop(ctx, at)
}

// oldLog drops batches that are old, folded, and not needed.
func (cfg Config) oldLog(ctx context.Context) (int, error) {
	return cfg.before(ctx, cfg.Keep.Log, func(ctx context.Context, before time.Time) (int, error) {
		last, _, err := cfg.Folded(ctx)
		for _, needed := range cfg.Needed {
			if err != nil {
				break
			}
			var seq int64
			seq, err = needed(ctx, before)
			last = min(last, seq)
		}
		if err != nil {
			return 0, fmt.Errorf("old log: %w", err)
		}
		return cfg.Log.Retain(ctx, before, last)
	})
}

// oldHistory drops what the log was folded into, up to where that has come, once the sums by node have it.
func (cfg Config) oldHistory(ctx context.Context) (int, error) {
	return cfg.before(ctx, cfg.Keep.History, func(ctx context.Context, before time.Time) (int, error) {
		_, at, err := cfg.Folded(ctx)
		if err == nil {
			err = cfg.Roll(ctx)
		}
		if err != nil {
			return 0, fmt.Errorf("old history: %w", err)
		}
		if at.Before(before) {
			before = at
		}
		return cfg.History(ctx, before)
	})
}
