package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// History is how much a site has behind it.
type History struct {
	Ended   int           `json:"ended"`   // jobs that are over, with an attempt each
	Days    int           `json:"days"`    // over which they are spread, as many each day, up to yesterday
	Ready   int           `json:"ready"`   // jobs of the present
	Pullers int           `json:"pullers"` // four times the connections of whole lives
	Round   time.Duration `json:"round"`
	Rounds  int           `json:"rounds"`
}

// HistoryOf is two months of PanDA's load and more.
func HistoryOf() History {
	return History{Ended: 100_000_000, Days: 60, Ready: 300_000, Pullers: 256, Round: 5 * time.Second, Rounds: 3}
}

func (h History) check() error {
	if h.Days < 2 || h.Ended < h.Days || h.Ready < 1000 || h.Pullers < 4 || h.Rounds < 1 || h.Round < 50*time.Millisecond {
		return fmt.Errorf("this history makes no sense: a job a day, two days and 1000 ready jobs at least: %+v", h)
	}
	return nil
}

// HistoryConfig is what a soak of history needs, as in Config.
type HistoryConfig struct {
	History
	Database    string
	Serve       func(ctx context.Context, dsn string) (Served, error)
	LoadCommand []string
	Progress    io.Writer
	Log         *slog.Logger
}

// historyRun is one under way.
type historyRun struct {
	*stage
	History
	first, last int64 // ids of the jobs of the past
}

// RunHistory measures whole lives over HTTP and the live tables in a new database, with the history behind it, and
// while that is dropped day by day as the daemon does it.
func RunHistory(ctx context.Context, cfg HistoryConfig) (report *Report, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	sizes := Sizes{Ready: cfg.Ready, Pullers: cfg.Pullers, Round: cfg.Round, Rounds: cfg.Rounds, Brief: true}
	s := &stage{Sizes: sizes, report: &Report{Began: time.Now(), Sizes: sizes}, cfg: Config{Sizes: sizes, Database: cfg.Database, Serve: cfg.Serve,
		LoadCommand: cfg.LoadCommand, Progress: &inLine{to: cfg.Progress}, Log: cfg.Log}}
	before := machine("at the start")
	s.say("making a database")
	if s.place, err = openPlace(ctx, cfg.Database, cfg.Log); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop(context.WithoutCancel(ctx))) }()
	if err := (&historyRun{stage: s, History: cfg.History}).run(ctx); err != nil {
		return nil, err
	}
	server, err := s.place.settings(ctx)
	if err != nil {
		return nil, err
	}
	s.report.Settings = slices.Concat(before, machine("at the end")[:1], s.report.Settings, server)
	s.report.TookS = time.Since(s.report.Began).Seconds()
	return s.report, nil
}

// soaked is what was measured at one time.
type soaked struct {
	rates, p99s []float64
	live        float64 // MB of the live tables
}

func (r *historyRun) run(ctx context.Context) error {
	if _, err := r.load(ctx); err != nil {
		return err
	}
	if err := r.serve(ctx); err != nil {
		return err
	}
	fresh, err := r.lives(ctx, "without history")
	if err != nil {
		return err
	}
	if err := r.generateHistory(ctx); err != nil {
		return err
	}
	old, err := r.lives(ctx, "with history")
	if err != nil {
		return err
	}
	var dropping soaked
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return r.drop(inner) })
	group.Go(func() (err error) { dropping, err = r.lives(inner, "while history is dropped"); return err })
	if err := group.Wait(); err != nil {
		return err
	}
	r.historyFigures(fresh, old, dropping)
	return r.leftBehind(ctx)
}

// lives is rounds of whole lives, and how large the live tables are after them.
func (r *historyRun) lives(ctx context.Context, when string) (m soaked, err error) {
	for i := range r.stage.Rounds {
		r.say("round %d of %d: whole lives over HTTP %s", i+1, r.stage.Rounds, when)
		result, err := r.lifeRound(ctx)
		if err != nil {
			return m, err
		}
		m.rates, m.p99s = append(m.rates, float64(result.Answers)/result.Elapsed.Seconds()), append(m.p99s, result.P99)
	}
	err = r.place.pool.QueryRow(ctx, query["history_live"]).Scan(&m.live)
	return m, err
}

// generateHistory writes the days, two at a time: jobs, blocks of them and attempts, into partitions of theirs.
func (r *historyRun) generateHistory(ctx context.Context) (err error) {
	r.say("generating %d ended jobs of %d days", r.Ended, r.Days)
	for _, step := range []struct {
		verb string
		args pgx.StrictNamedArgs
	}{{"history_days", pgx.StrictNamedArgs{"days": r.Days}}, {"history_counted", pgx.StrictNamedArgs{}}} {
		if _, err := r.place.pool.Exec(ctx, query[step.verb], step.args); err != nil {
			return fmt.Errorf("%s: %w", step.verb, err)
		}
	}
	if r.first, err = r.place.takeIDs(ctx, r.Ended); err != nil {
		return err
	}
	r.last = r.first + int64(r.Ended) - 1
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for back := range r.Days {
		n := r.Ended*(back+1)/r.Days - r.Ended*back/r.Days
		group.Go(func() error { return r.generateDay(inner, r.Days-back, n, r.first+int64(r.Ended*back/r.Days)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// Partitions of jobs go when a later one was begun before then.
	after, err := r.place.takeIDs(ctx, 1)
	if err != nil {
		return err
	}
	if _, err := r.place.pool.Exec(ctx, query["history_blocks"], pgx.StrictNamedArgs{"back": 1, "n": 1, "first": after}); err != nil {
		return err
	}
	var mb float64
	if err := r.place.pool.QueryRow(ctx, query["history_size"]).Scan(&mb); err != nil {
		return err
	}
	r.say("history has %.0f MB; VACUUM ANALYZE", mb)
	r.report.Settings = append(r.report.Settings, Setting{"history", fmt.Sprintf("%d ended jobs of %d days, with an attempt each, %.0f MB", r.Ended, r.Days, mb)})
	_, err = r.place.pool.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// generateDay writes jobs that were made and ended on one day, so many days ago.
func (r *historyRun) generateDay(ctx context.Context, back, n int, first int64) error {
	for _, step := range []struct {
		verb string
		args pgx.StrictNamedArgs
	}{{"history_blocks", pgx.StrictNamedArgs{"back": back, "n": n, "first": first}}, {"history_jobs", pgx.StrictNamedArgs{"n": n, "first": first}},
		{"history_attempts", pgx.StrictNamedArgs{"back": back, "n": n, "first": first}}} {
		if _, err := r.place.pool.Exec(ctx, query[step.verb], step.args); err != nil {
			return fmt.Errorf("%s: %w", step.verb, err)
		}
	}
	return nil
}

// drop drops the days as the daemon does it: the oldest one first, each in a transaction, again when others have the
// table; and the jobs that were made by then.
func (r *historyRun) drop(ctx context.Context) error {
	folder := fold.New(r.place.pool, ledger.New(r.place.pool), nil)
	live := func(ctx context.Context, low, high int64) (is bool, err error) {
		err = r.place.pool.QueryRow(ctx, query["live_among"], pgx.StrictNamedArgs{"low": low, "high": high}).Scan(&is)
		return is, err
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for back := r.Days - 1; ; back = max(0, back-1) {
		before := today.AddDate(0, 0, -back)
		if _, err := folder.Retain(ctx, before); err != nil {
			return err
		}
		if _, err := intake.Retire(ctx, r.place.pool, before, live); err != nil {
			return err
		}
		var left int
		args := pgx.StrictNamedArgs{"first": r.first, "last": r.last}
		if err := r.place.pool.QueryRow(ctx, query["history_parts"], args).Scan(&left); err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	r.say("all days before today are dropped")
	return nil
}

// historyFigures: the present does not notice how much there was.
func (r *historyRun) historyFigures(fresh, old, dropping soaked) {
	base := newSeries("whole lives over HTTP without history", "jobs/s", fresh.rates)
	with := newSeries("with history", "jobs/s", old.rates)
	r.figure(atLeast("history", "lives_ratio", with.Median/base.Median, 0.9, with, base))
	late, early := newSeries("p99 of a life while days are dropped", "ms", dropping.p99s), newSeries("p99 with history", "ms", old.p99s)
	r.figure(atMost("history", "drop_p99_ratio", late.Median/early.Median, 3, late, early, newSeries("lives while days are dropped", "jobs/s", dropping.rates)))
	mb := func(what string, m soaked) Series { return newSeries("live tables "+what, "MB", []float64{m.live}) }
	r.figure(atMost("history", "live_ratio", old.live/fresh.live, 1.5, mb("with history", old), mb("without", fresh), mb("after the drop", dropping)))
}

// leftBehind checks that all of the history has gone, and nothing of the present.
func (r *historyRun) leftBehind(ctx context.Context) error {
	var history int64
	if err := r.place.pool.QueryRow(ctx, query["history_left"], pgx.StrictNamedArgs{"first": r.first, "last": r.last}).Scan(&history); err != nil {
		return err
	}
	if history != 0 {
		return &CheckError{[]error{fmt.Errorf("%d rows of history are left after all days before today were dropped", history)}}
	}
	return r.verify(ctx, "history was dropped")
}
