package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/hooks"
	"github.com/divvyhq/divvy/internal/live"
	"github.com/divvyhq/divvy/internal/logs"
	"github.com/divvyhq/divvy/internal/loops"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/sandbox"
	"github.com/divvyhq/divvy/internal/site"
)

// Daemon is one running divvy. Make it with New, then Start, and Stop exactly once if Start succeeded.
type Daemon struct {
	cfg       config.Config
	ephemeral bool // database auto: a cluster of its own that is deleted at the end
	log       *slog.Logger
	watch     watching

	db         *Database
	pool       *pgxpool.Pool
	store      *site.Store
	callers    callers
	dispatcher *dispatcher.Dispatcher
	generator  *generator.Generator
	tasks      *view.Reader
	sandboxes  *sandbox.Store
	hooks      *hooks.Hooks
	news       *loops.News
	company    company
	pages      *hub.Hub
	outputs    *live.Outputs

	ports ports
	http  server // on the first of them
	life  lifetime
}

// New makes a daemon that logs to log.
func New(cfg config.Config, log *slog.Logger) *Daemon {
	d := &Daemon{cfg: cfg, log: log, news: loops.NewNews(), pages: hub.New(), outputs: live.New(live.Limits{})}
	d.life = lifetime{within: cfg.StopWithin, log: log, failed: make(chan error, 1)}
	d.watch.registry = newRegistry()
	d.watch.sql = pg.NewMetrics(d.watch.registry)
	return d
}

// watching is how a daemon is watched.
type watching struct {
	lines    *logs.Log // behind log; nil: the log is not ours, so its levels do not change
	tracing  *tracing  // nil: off
	sql      *pg.Metrics
	registry *prometheus.Registry
}

// NewLogging makes a daemon that logs to w, by levels that change while it runs.
func NewLogging(cfg config.Config, w io.Writer) *Daemon {
	lines := config.NewLog(w, cfg)
	d := New(cfg, lines.Logger())
	d.watch.lines = lines
	return d
}

// Ephemeral has a private cluster deleted when the daemon stops. It comes before Start.
func (d *Daemon) Ephemeral() { d.ephemeral = true }

// Dispatcher is the daemon's, from Start on.
func (d *Daemon) Dispatcher() *dispatcher.Dispatcher { return d.dispatcher }

// DSN is that of the database, from Start on.
func (d *Daemon) DSN() string { return d.db.dsn }

// Start brings everything up; when it returns nil the daemon serves. On an error everything that was started is
// stopped again. ctx bounds the start only.
func (d *Daemon) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		paceGC(&d.life), d.startTraces, d.openPorts, d.openDatabase, d.openPool, d.openAccess, d.openSite, d.openLinks, d.openDispatcher, d.openGenerator, d.firstSite,
		d.startDispatcher, d.settled, d.startLoops, d.serve,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
		}
	}
	d.watch.lead(d.dispatcher.Leads)
	d.log.Info("serving", "url", d.URL(), "database", d.db.name(d.cfg.Database.DSN), "generators", d.cfg.Generators)
	return nil
}

// Addr is where the API listens; with port 0 in the configuration, the port that was free.
func (d *Daemon) Addr() string { return d.ports.api.Addr().String() }

// URL is Addr for a client on this host.
func (d *Daemon) URL() string { return urlOf(d.cfg.Access.TLS.Cert != "", d.ports.api.Addr()) }

// Failed gets an error when the daemon cannot go on by itself.
func (d *Daemon) Failed() <-chan error { return d.life.failed }

// Stop undoes Start in the reverse order, each step within its own bound and all within ctx and StopWithin.
// A step that fails or runs out of time does not keep the next from being taken.
func (d *Daemon) Stop(ctx context.Context) error { return d.life.end(ctx) }

func (d *Daemon) openDatabase(ctx context.Context) (err error) {
	if d.db, err = OpenDatabase(ctx, d.cfg, d.ephemeral, d.part("database")); err != nil {
		return err
	}
	d.life.onStop("database", 15*time.Second, d.db.Stop)
	return d.db.migrate(ctx, d.part("database"))
}

func (d *Daemon) openPool(ctx context.Context) (err error) {
	if d.pool, err = d.db.pool(ctx, pg.MaxConns(int32(d.cfg.Database.Connections)), pg.Observed(d.watch.sql, d.watch.tracing != nil)); err != nil {
		return err
	}
	d.watch.sql.Watch(d.pool)
	d.life.onStop("connections", 15*time.Second, func(ctx context.Context) error {
		return wait(ctx, "connections are still in use", d.pool.Close)
	})
	return nil
}

func (d *Database) name(dsn string) string {
	if d.cluster != nil {
		return "private cluster"
	}
	return config.HidePassword(dsn)
}
