package generator

import (
	"context"
	"embed"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/coming"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Config is what a Generator works with. Pool and Site are required.
type Config struct {
	Pool *pgxpool.Pool
	// Site is the site in force; it may be up to a second old, but not while the caller holds the site lock: Reassign has
	// limits computed by it. Number 0 means that none was applied yet.
	Site func(context.Context) (*site.Site, error)
	// Stock tells how fast shares start jobs and how many they could start now; nil: only Mark.Floor counts.
	Stock func() []dispatcher.Stock
	// Order tells in which order shares without any ready job come first at pulls; nil: in that of their ids.
	Order func(context.Context, []dispatcher.Coming) ([]shares.ShareID, error)
	// Written is called after each transaction that has something for the log: Dispatcher.Written. nil: the leader finds it by itself.
	Written func()
	// Changed is called after each transaction that may have changed tasks; nil: nobody wants to know.
	Changed func()
	Log     *slog.Logger          // nil: none
	Metrics prometheus.Registerer // nil: none
	Mark    broker.Mark           // zero fields take the defaults
}

// Generator turns tasks into jobs and outcomes into the state of tasks. All methods may be called at once, and
// from several daemons on one database.
type Generator struct {
	*base
	coming coming.Teller
}

// Submissions takes tasks. All methods may be called at once.
type Submissions struct{ *base }

// Verbs says to tasks what people want of them. All methods may be called at once.
type Verbs struct{ *base }

// base is what they have in common.
type base struct {
	cfg     Config
	hints   chan struct{}
	metrics metrics
	broker  *broker.Broker
	tasks   *view.Reader
}

type metrics struct {
	submitted prometheus.Counter
	generated prometheus.Counter
	moves     prometheus.Counter
	ended     *prometheus.CounterVec
	deadlines *prometheus.GaugeVec
	throttled prometheus.Gauge
}

// New makes a Generator. It starts nothing: the steps Generate, Settle and Sweep are called by the caller's clock.
func New(cfg Config) *Generator {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Written == nil {
		cfg.Written = func() {}
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	factory := promauto.With(cfg.Metrics)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &Generator{base: &base{cfg: cfg, tasks: view.New(cfg.Pool, cfg.Site), hints: make(chan struct{}, 1),
		broker: broker.New(broker.Config{Pool: cfg.Pool, Stock: cfg.Stock, Order: cfg.Order, Mark: cfg.Mark}), metrics: metrics{
			submitted: counter("divvy_tasks_submitted_total", "Tasks submitted at this daemon."),
			generated: counter("divvy_jobs_generated_total", "Jobs made out of tasks by this daemon."),
			moves:     counter("divvy_task_moves_settled_total", "Tasks settled by this daemon after counts of their jobs had changed."),
			ended: factory.NewCounterVec(prometheus.CounterOpts{Name: "divvy_tasks_ended_total",
				Help: "Tasks that ended, by state, as this daemon saw it."}, []string{"state"}),
			deadlines: factory.NewGaugeVec(prometheus.GaugeOpts{Name: "divvy_task_deadlines",
				Help: "Live tasks with a deadline, by risk of being late."}, []string{"late_risk"}),
			throttled: factory.NewGauge(prometheus.GaugeOpts{Name: "divvy_tasks_throttled",
				Help: "Tasks that wait for a limit of the site, as of when this daemon last looked."}),
		}}}
}

// Submissions are those of a daemon with this Generator, which hears of them.
func (g *Generator) Submissions() *Submissions { return &Submissions{g.base} }

// Verbs are those of a daemon with this Generator, which hears of them.
func (g *Generator) Verbs() *Verbs { return &Verbs{g.base} }

// write runs a transaction that may have something for the log, and has the leader look.
func (b *base) write(ctx context.Context, fn func(tx pgx.Tx) error) error {
	err := pg.InTx(ctx, b.cfg.Pool, fn)
	if err == nil {
		b.wrote()
	}
	return err
}

// wrote is called after such a transaction.
func (b *base) wrote() {
	b.cfg.Written()
	b.cfg.Changed()
}

// steady keeps a change of the site away until the transaction ends. Whoever makes or places jobs begins with it: the change holds it
// while it moves tasks, so that nobody may wait for it who has locked one.
func steady(ctx context.Context, tx pgx.Tx) error { return pg.LockShared(ctx, tx, pg.LockGrants, 0) }

// Heard tells that tasks or the site have changed: Generate looks anew soon.
func (g *Generator) Heard() { g.broker.Heard() }

// siteInForce is the version in force, which stays so until the transaction ends.
func (b *base) siteInForce(ctx context.Context, tx pgx.Tx) (*site.Site, error) {
	if err := pg.LockShared(ctx, tx, pg.LockSite, 0); err != nil {
		return nil, err
	}
	st, err := b.cfg.Site(ctx)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	if st.Number == 0 {
		return nil, tags.ErrNoSite
	}
	var inForce int64
	if err := tx.QueryRow(ctx, query["newest_site"]).Scan(&inForce); err != nil {
		return nil, err
	}
	if inForce != st.Number {
		return nil, ErrSiteChanged
	}
	return st, nil
}

// Hints has a value when this daemon learned of new pieces: a ticker that calls Generate need not wait then.
func (g *Generator) Hints() <-chan struct{} { return g.hints }

func (b *base) hint() {
	b.broker.Heard()
	b.cfg.Changed()
	select {
	case b.hints <- struct{}{}:
	default:
	}
}

// report notes a task that has just ended.
func (b *base) report(v judge.Verdict) {
	if v.Before != v.After && judge.Final(v.After) {
		b.metrics.ended.WithLabelValues(v.After).Inc()
		b.cfg.Log.Info("task ended", "task", v.ID, "state", v.After)
	}
}
