package history

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// History is how much a site has behind it.
type History struct {
	Ended   int           `json:"ended"`   // jobs that are over, with an attempt each
	Days    int           `json:"days"`    // over which they are spread, as many each day, up to yesterday
	Ready   int           `json:"ready"`   // jobs of the present
	Pullers int           `json:"pullers"` // four times the connections of whole lives
	Round   time.Duration `json:"round"`
	Rounds  int           `json:"rounds"`
}

// Large is two months of PanDA's load and more.
func Large() History {
	return History{Ended: 100_000_000, Days: 60, Ready: 300_000, Pullers: 256, Round: 5 * time.Second, Rounds: 3}
}

// run is one under way.
type run struct {
	*stage.Stage
	history     History
	rounds      figure.Rounds
	first, last int64 // ids of the jobs of the past
}

// Run measures whole lives over HTTP and the live tables.
func Run(ctx context.Context, cfg stage.Config, h History) (*figure.Report, error) {
	if h.Days < 2 || h.Ended < h.Days || h.Ready < 1000 || h.Pullers < 4 || h.Rounds < 1 || h.Round < 50*time.Millisecond {
		return nil, fmt.Errorf("this history makes no sense: a job a day, two days and 1000 ready jobs at least: %+v", h)
	}
	sizes := stage.Sizes{Ready: h.Ready, Pullers: h.Pullers, Round: h.Round, Rounds: h.Rounds, Brief: true}
	r := &run{Stage: &stage.Stage{Sizes: sizes, Plan: stage.Base, Book: figure.NewBook(h, cfg.Progress)}, history: h}
	return stage.Run(ctx, cfg, r.Stage, r.measure)
}

// The times at which lives are measured.
const (
	without  = "without history"
	with     = "with history"
	dropping = "while history is dropped"
)

func (r *run) measure(ctx context.Context) error {
	if _, err := r.Load(ctx); err != nil {
		return err
	}
	if err := r.Serve(ctx); err != nil {
		return err
	}
	if err := r.lives(ctx, without); err != nil {
		return err
	}
	if err := r.generate(ctx); err != nil {
		return err
	}
	if err := r.lives(ctx, with); err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return r.drop(inner) })
	group.Go(func() error { return r.lives(inner, dropping) })
	if err := group.Wait(); err != nil {
		return err
	}
	r.figures()
	return r.leftBehind(ctx)
}

// lives is rounds of whole lives, and how large the live tables are after them.
func (r *run) lives(ctx context.Context, when string) error {
	for i := range r.Rounds {
		r.Book.Say("round %d of %d: whole lives over HTTP %s", i+1, r.Rounds, when)
		l, err := r.LifeRound(ctx)
		if err != nil {
			return err
		}
		r.rounds.Add("lives "+when, "jobs/s", l.Rate())
		r.rounds.Add("p99 "+when, "ms", l.P99)
	}
	live, err := recount.Value[float64](ctx, r.Place.Pool, query["history_live"])
	r.rounds.Add("live tables "+when, "MB", live)
	return err
}

// exec runs statements, one after the other.
func (r *run) exec(ctx context.Context, args pgx.StrictNamedArgs, verbs ...string) error {
	for _, verb := range verbs {
		if _, err := r.Place.Pool.Exec(ctx, query[verb], args); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	return nil
}

// generate writes the days, two at a time: jobs, blocks of them and attempts, into partitions of theirs.
func (r *run) generate(ctx context.Context) (err error) {
	ended, days := r.history.Ended, r.history.Days
	r.Book.Say("generating %d ended jobs of %d days", ended, days)
	if err := r.exec(ctx, pgx.StrictNamedArgs{"days": days}, "history_days"); err != nil {
		return err
	}
	if err := r.exec(ctx, pgx.StrictNamedArgs{}, "history_counted"); err != nil {
		return err
	}
	if r.first, err = r.Place.TakeIDs(ctx, ended); err != nil {
		return err
	}
	r.last = r.first + int64(ended) - 1
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for back := range days {
		first := ended * back / days
		group.Go(func() error { return r.day(inner, days-back, ended*(back+1)/days-first, r.first+int64(first)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// Partitions of jobs go when a later one was begun before then.
	after, err := r.Place.TakeIDs(ctx, 1)
	if err != nil {
		return err
	}
	if err := r.exec(ctx, pgx.StrictNamedArgs{"back": 1, "n": 1, "first": after}, "history_blocks"); err != nil {
		return err
	}
	mb, err := recount.Value[float64](ctx, r.Place.Pool, query["history_size"])
	if err != nil {
		return err
	}
	r.Book.Say("history has %.0f MB; VACUUM ANALYZE", mb)
	r.Book.Set("history", "%d ended jobs of %d days, with an attempt each, %.0f MB", ended, days, mb)
	_, err = r.Place.Pool.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// day writes jobs that were made and ended on one day, so many days ago.
func (r *run) day(ctx context.Context, back, n int, first int64) error {
	if err := r.Place.MakeJobs(ctx, first, n); err != nil {
		return err
	}
	return r.exec(ctx, pgx.StrictNamedArgs{"back": back, "n": n, "first": first}, "history_blocks", "history_attempts")
}

// drop drops the days as the daemon does it: the oldest one first, each in a transaction, again when others have the
// table; and the jobs that were made by then.
func (r *run) drop(ctx context.Context) error {
	folder := fold.New(r.Place.Pool, ledger.New(r.Place.Pool), nil)
	live := func(ctx context.Context, low, high int64) (bool, error) {
		return recount.Value[bool](ctx, r.Place.Pool, query["live_among"], pgx.StrictNamedArgs{"low": low, "high": high})
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	back := r.history.Days
	err := stage.Until(ctx, 50*time.Millisecond, time.Hour, "not all days are dropped", func() (bool, error) {
		back = max(0, back-1)
		before := today.AddDate(0, 0, -back)
		if _, err := folder.Retain(ctx, before); err != nil {
			return false, err
		}
		if _, err := intake.Retire(ctx, r.Place.Pool, before, live); err != nil {
			return false, err
		}
		left, err := recount.Value[int](ctx, r.Place.Pool, query["history_parts"], pgx.StrictNamedArgs{"first": r.first, "last": r.last})
		return left == 0, err
	})
	if err == nil {
		r.Book.Say("all days before today are dropped")
	}
	return err
}

// figures: the present does not notice how much there was.
func (r *run) figures() {
	named := func(side, name string) figure.Series { s := r.rounds.Of(side); s.Name = name; return s }
	base, old := named("lives "+without, "whole lives over HTTP without history"), named("lives "+with, with)
	late, early := named("p99 "+dropping, "p99 of a life while days are dropped"), named("p99 "+with, "p99 with history")
	fresh, heavy := r.rounds.Of("live tables "+without), r.rounds.Of("live tables "+with)
	r.Book.Add(figure.AtLeast("history", "lives_ratio", old.Median/base.Median, 0.9, old, base),
		figure.AtMost("history", "drop_p99_ratio", late.Median/early.Median, 3, late, early, named("lives "+dropping, "lives while days are dropped")),
		figure.AtMost("history", "live_ratio", heavy.Median/fresh.Median, 1.5, heavy, fresh, named("live tables "+dropping, "live tables after the drop")))
}

// leftBehind checks that all of the history has gone, and nothing of the present.
func (r *run) leftBehind(ctx context.Context) error {
	left, err := recount.Value[int64](ctx, r.Place.Pool, query["history_left"], pgx.StrictNamedArgs{"first": r.first, "last": r.last})
	if err != nil {
		return err
	}
	if left != 0 {
		return recount.Failedf("%d rows of history are left after all days before today were dropped", left)
	}
	if err := r.Measured(ctx, "history was dropped"); err != nil {
		return err
	}
	return r.Settle(ctx)
}
