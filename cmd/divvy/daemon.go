package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/api/web"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/logs"
	"github.com/divvyhq/divvy/internal/loops"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/sandbox"
	"github.com/divvyhq/divvy/internal/site"
)

// daemon is one running divvy. Make it with newDaemon, then Start, and Stop exactly once if Start succeeded.
type daemon struct {
	cfg       config.Config
	ephemeral bool // database auto: a cluster of its own that is deleted at the end
	log       *slog.Logger
	lines     *logs.Log // behind log; nil: somebody else's, whose levels are not ours to change
	tracing   *tracing  // nil: off
	sql       *pg.Metrics
	registry  *prometheus.Registry

	db         *database
	pool       *pgxpool.Pool
	store      *site.Store
	tokens     *access.Store
	book       *access.Book
	outside    *keys.Fresh[*access.Outside]
	dispatcher *dispatcher.Dispatcher
	generator  *generator.Generator
	sandboxes  *sandbox.Store
	news       *loops.News
	company    company
	pages      *web.Hub

	listener net.Listener
	http     server       // on it
	panda    net.Listener // nil: PanDA's API is beside the native one
	pprof    net.Listener
	undo     []undoStep // what Stop does, last first
	failed   chan error
	stopping sync.Once
	leaving  atomic.Bool // Stop has begun: /readyz says so
}

// undoStep takes back one step of Start.
type undoStep struct {
	name  string
	bound time.Duration
	do    func(context.Context) error
}

func newDaemon(cfg config.Config, log *slog.Logger) *daemon {
	d := &daemon{cfg: cfg, log: log, registry: newRegistry(), news: loops.NewNews(), pages: web.NewHub(), failed: make(chan error, 1)}
	d.sql = pg.NewMetrics(d.registry)
	return d
}

// Start brings everything up; when it returns nil the daemon serves. On an error everything that was started is
// stopped again. ctx bounds the start only.
func (d *daemon) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		d.startGC, d.startTraces, d.listen, d.openDatabase, d.openPool, d.openAccess, d.openSite, d.openLinks, d.openDispatcher, d.openGenerator, d.firstSite,
		d.startDispatcher, d.settled, d.startLoops, d.serve,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
		}
	}
	d.watchLead()
	d.log.Info("serving", "url", d.URL(), "database", d.databaseName(), "generators", d.cfg.Generators)
	return nil
}

// Addr is where the API listens; with port 0 in the configuration, the port that was free.
func (d *daemon) Addr() string { return d.listener.Addr().String() }

// URL is Addr for a client on this host.
func (d *daemon) URL() string {
	return urlOf(pick(d.cfg.TLSCert != "", "https", "http"), d.listener.Addr())
}

// urlOf is a listener's address for a client on this host.
func urlOf(scheme string, addr net.Addr) string {
	host, port, _ := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Failed gets an error when the daemon cannot go on by itself.
func (d *daemon) Failed() <-chan error { return d.failed }

func (d *daemon) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// Stop undoes Start in the reverse order, each step within its own bound and all within ctx and StopWithin.
// A step that fails or runs out of time does not keep the next from being taken.
func (d *daemon) Stop(ctx context.Context) error {
	var errs []error
	d.stopping.Do(func() {
		d.leaving.Store(true)
		ctx, cancel := context.WithTimeout(ctx, d.cfg.StopWithin)
		defer cancel()
		for i := len(d.undo) - 1; i >= 0; i-- {
			s := d.undo[i]
			began := time.Now()
			bounded, cancel := context.WithTimeout(ctx, s.bound)
			if err := s.do(bounded); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
				d.log.Error("stop: step failed", "step", s.name, "error", err)
			}
			cancel()
			d.log.Debug("stopped", "step", s.name, "took", time.Since(began).Round(time.Millisecond))
		}
	})
	return errors.Join(errs...)
}

func (d *daemon) onStop(name string, bound time.Duration, do func(context.Context) error) {
	d.undo = append(d.undo, undoStep{name, bound, do})
}

func (d *daemon) openDatabase(ctx context.Context) (err error) {
	if d.db, err = openDatabase(ctx, d.cfg, d.ephemeral, d.part("database")); err != nil {
		return err
	}
	d.onStop("database", 15*time.Second, d.db.stop)
	return d.db.migrate(ctx, d.part("database"))
}

func (d *daemon) openPool(ctx context.Context) (err error) {
	if d.pool, err = d.db.pool(ctx, pg.MaxConns(int32(d.cfg.Connections)), pg.Observed(d.sql, d.tracing != nil)); err != nil {
		return err
	}
	d.sql.Watch(d.pool)
	d.onStop("connections", 5*time.Second, func(ctx context.Context) error {
		return wait(ctx, "connections are still in use", d.pool.Close)
	})
	return nil
}

func (d *daemon) databaseName() string {
	if d.db.cluster != nil {
		return "private cluster"
	}
	return config.HidePassword(d.cfg.Database)
}

// listen takes the ports before anything runs: a port in use is the first thing to be said, and whoever connects
// during a long migration waits for its end.
func (d *daemon) listen(context.Context) (err error) {
	if d.listener, err = net.Listen("tcp", d.cfg.Listen); err != nil {
		return fail.Hintf(err, "Is another daemon running? Use --listen 127.0.0.1:0 for any free port.")
	}
	plain := d.listener
	d.onStop("listener", time.Second, func(context.Context) error { return ignoreClosed(plain.Close()) })
	d.listener, err = withTLS("listen", plain, keys.TLSFiles{Name: "the HTTP API", Cert: d.cfg.TLSCert, Key: d.cfg.TLSKey, ClientCA: d.cfg.TLSClientCA, Log: d.log})
	if err != nil {
		return err
	}
	if err := d.listenPanda(); err != nil {
		return err
	}
	if d.cfg.Pprof == "" {
		return nil
	}
	if d.pprof, err = net.Listen("tcp", d.cfg.Pprof); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	d.onStop("pprof listener", time.Second, func(context.Context) error { return ignoreClosed(d.pprof.Close()) })
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// server is *http.Server, or what stands before one.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// serveOn runs an HTTP server until Stop, which lets requests that are under way end.
func (d *daemon) serveOn(name string, l net.Listener, srv server) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.fail(fmt.Errorf("%s: %w", name, err))
		}
	}()
	d.onStop(name, 10*time.Second, func(ctx context.Context) error {
		err := srv.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, srv.Close())
		}
		<-done
		return err
	})
}

// wait runs do, which cannot be cancelled, and gives up waiting for it when ctx ends.
func wait(ctx context.Context, complaint string, do func()) error {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New(complaint)
	}
}
