package serve

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/pprof"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/hooks"
	"github.com/divvyhq/divvy/internal/logs"
	"github.com/divvyhq/divvy/internal/relay"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/sandbox"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: "divvy_build_info", Help: "1, with the version of the daemon."}, []string{"version"}).
		WithLabelValues(build.Version()).Set(1)
	return r
}

// part is the logger of a part of the daemon, which may have a level of its own.
func (d *Daemon) part(name string) *slog.Logger { return d.log.With("part", name) }

// lead exports who decides.
func (w *watching) lead(leads func() bool) {
	promauto.With(w.registry).NewGaugeFunc(prometheus.GaugeOpts{Name: "divvy_daemon_decides",
		Help: "1 if this daemon is the leader, else 0. The sum over all daemons should be 1."}, func() float64 {
		if leads() {
			return 1
		}
		return 0
	})
}

// levels are those of the log where it is ours.
func (w *watching) levels() *logs.Levels {
	if w.lines == nil {
		return nil
	}
	return w.lines.Levels()
}

// hide keeps a secret out of the log, where it is ours.
func (w *watching) hide(secret string) {
	if w.lines != nil {
		w.lines.Hide(secret)
	}
}

// openSite makes the store of site versions. A change of the site keeps jobs from being made or placed, moves live work where the file says
// so, and says the new version to the log, all in its one transaction.
func (d *Daemon) openSite(context.Context) error {
	d.store = site.NewStore(site.Config{Pool: d.pool, Log: d.part("site"), Metrics: d.watch.registry, Hooks: site.Hooks{
		Barrier: intake.Barrier,
		Live:    view.Live,
		Move: func(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
			if err := generator.MoveShare(ctx, tx, from, to); err != nil {
				return err
			}
			return intake.MoveShare(ctx, tx, from, to)
		},
		Ahead: func(ctx context.Context, from, to shares.ShareID) (bool, error) {
			if d.generator == nil { // of the first site of all
				return false, nil
			}
			return d.generator.MoveAhead(ctx, from, to)
		},
		Applied: intake.Rebase,
		Standing: func(ctx context.Context) (map[string]site.Demand, error) {
			if d.dispatcher == nil {
				return nil, nil
			}
			ends, err := d.dispatcher.Ends(ctx)
			return demandOf(d.dispatcher.Standing(), ends), err
		},
	}})
	return nil
}

// demandOf is the live demand of each pool, for the targets that a dry run shows.
func demandOf(st dispatcher.Standing, ends map[string]map[shares.ShareID]shares.Ends) map[string]site.Demand {
	milli := func(f float64) shares.Units { return shares.Units(math.Round(f * 1000)) }
	pools := map[string]site.Demand{}
	for _, p := range st.Pools {
		d := site.Demand{Ends: ends[p.Pool], Held: map[shares.ShareID]shares.Units{}, Want: map[shares.ShareID]shares.Units{}}
		d.Offered = max(0, milli(p.Round-p.Held))
		for _, s := range p.Shares {
			if s.Leaf {
				d.Held[s.ID], d.Want[s.ID] = milli(s.Held), milli(max(0, s.Demand-s.Held))
			}
		}
		pools[p.Pool] = d
	}
	return pools
}

func (d *Daemon) openDispatcher(ctx context.Context) (err error) {
	d.dispatcher, err = dispatcher.Open(ctx, dispatcher.Config{
		Pool: d.pool, Site: d.store.At, Outbox: intake.NewOutbox(d.pool), Log: d.part("dispatcher"),
		Daemon: d.company.member.Self().ID, Address: d.company.member.Self().Address, Alone: d.company.links.Alone, Send: d.company.links.Send,
		Timing: lease.Timing{First: d.cfg.Lease.First, TTL: d.cfg.Lease.TTL,
			Grace: d.cfg.Lease.Renew * 3 / 2, Making: d.cfg.Wait.Making},
		RenewEvery: d.cfg.Lease.Renew,
		Machine:    machine.Config{LocalWait: d.cfg.Wait.Local, GangHold: d.cfg.Wait.Gang, Making: d.cfg.Wait.Making},
		News:       d.news.Tell,
		Keep:       d.cfg.Keep.Upkeep(), Sample: d.cfg.Sample, Metrics: d.watch.registry, ShareMetrics: config.ShareMetrics[d.cfg.ShareMetrics],
	})
	return err
}

func (d *Daemon) openGenerator(context.Context) error {
	d.sandboxes = sandbox.NewStore(d.pool)
	d.tasks = view.New(d.pool, d.store.Load)
	d.generator = generator.New(generator.Config{Pool: d.pool, Site: d.store.Load, Stock: d.dispatcher.Stock,
		Order: d.dispatcher.Order, Written: d.dispatcher.Written, Changed: d.news.Done, Log: d.part("generator"), Metrics: d.watch.registry})
	d.hooks = hooks.New(hooks.Config{DB: d.pool, Load: d.store.Load, Leads: d.dispatcher.Leads, Standing: d.dispatcher.Standing, Queues: d.dispatcher.Queues,
		Registry: d.watch.registry, Log: d.part("webhooks")})
	d.life.onStop("webhooks", 10*time.Second, func(stop context.Context) error { return wait(stop, "a receiver holds a daemon up", d.hooks.Stop) })
	return nil
}

// firstSite applies the site file of the configuration when nothing was ever applied, and says what it did.
func (d *Daemon) firstSite(ctx context.Context) error {
	v, err := d.store.Load(ctx)
	if err != nil {
		return err
	}
	switch {
	case d.cfg.Site == "" && v.Number == 0:
		d.log.Info("no site yet: every submission is refused until 'divvy apply -f site.yml'")
		return nil
	case d.cfg.Site == "":
		return nil
	case v.Number > 0:
		d.log.Warn("site file not applied: a version is in force already; apply changes with 'divvy apply'", "file", d.cfg.Site, "version", v.Number)
		return nil
	}
	src, err := os.ReadFile(d.cfg.Site)
	if err != nil {
		return fmt.Errorf("first site: %w", err)
	}
	applied, err := d.store.Apply(ctx, site.ApplyRequest{Source: src, Name: d.cfg.Site, By: "serve --site", Note: "first start"})
	if err != nil {
		return fmt.Errorf("first site: %w", err)
	}
	d.log.Info("first site applied: nothing was before", "file", d.cfg.Site, "version", applied.Version)
	return nil
}

// serve starts HTTP on the ports that listen took.
func (d *Daemon) serve(context.Context) error {
	calls, err := d.pandaConfig()
	if err != nil {
		return err
	}
	calls.Jobs, calls.Work, calls.Workers = d.dispatcher, d.tasks, harvester.NewStore(d.pool)
	calls.Sandboxes = d.sandboxes
	calls.Known, calls.Submissions, calls.Steering, calls.Site = d.tasks, d.generator.Submissions(), d.generator.Verbs(), d.store
	handler := api.New(api.Config{
		Dispatcher: d.dispatcher, Work: api.Work{Tasks: d.tasks, Submissions: d.generator.Submissions(), Steering: d.generator.Verbs(), Past: tags.Past{Pool: d.pool}, Outputs: d.outputs}, Site: ownSite{d.store, d}, Ready: d.ready,
		Reports:  report.NewReader(d.pool),
		Registry: d.watch.registry, Log: d.part("api"), Levels: d.watch.levels(), Tracer: d.watch.tracing.tracer(), Book: d.callers.book, Closed: d.cfg.Access.Closed(), Access: d.callers.tokens, Outside: d.callers.credentials(), Rates: edge.Rates{Pulls: d.cfg.Access.Pulls, Requests: d.cfg.Access.Requests}, Build: build.Version(), Pages: d.pages,
		Panda: calls, PandaApart: d.ports.panda != nil,
		Relay: &api.Relay{
			Serve: func(questions relay.Handler) http.Handler { return d.company.links.Handler(d.company.leave, questions) },
			Ask: func(ctx context.Context, path string, body []byte) (relay.Reply, error) {
				return d.company.links.Ask(ctx, d.dispatcher.Leader(), path, body)
			},
			Leader: d.company.links.LeaderURL(d.dispatcher.Leader),
		},
	})
	d.http = api.NewServer(handler, d.log)
	d.life.serveOn("http", d.ports.api, d.http)
	if d.ports.panda != nil {
		d.life.serveOn("panda", d.ports.panda, api.NewPandaServer(handler, d.log))
		d.log.Info("PanDA's API", "url", d.PandaURL())
	}
	if d.ports.pprof != nil {
		d.life.serveOn("pprof", d.ports.pprof, &http.Server{Handler: profiles(), ReadHeaderTimeout: 10 * time.Second})
		d.log.Info("profiles", "url", "http://"+d.ports.pprof.Addr().String()+"/debug/pprof/")
	}
	// The first thing that Stop does: no new grants, and pulls that wait are told so (503) instead of keeping the HTTP server from ending.
	// Renewals and ends are served until that has happened.
	d.life.onStop("pulls", time.Second, func(context.Context) error { d.pages.Close(); d.outputs.Close(); d.dispatcher.Drain(); return nil })
	return nil
}

// startDispatcher lets pulls, renewals and ends be served.
func (d *Daemon) startDispatcher(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.dispatcher.Run(ctx) })
	all.Go(func() { d.company.links.Run(ctx, d.dispatcher) })
	d.life.onStop("grants", 5*time.Second, func(stop context.Context) error {
		cancel()
		return wait(stop, "grants are still in flight", all.Wait)
	})
	return nil
}

// settled waits until this daemon goes by the site in force, and leads or reaches the daemon that does, so that the first pull is not too early.
// If no daemon leads by then it serves nevertheless.
func (d *Daemon) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	err := d.dispatcher.Follow(ctx)
	for err == nil && !d.dispatcher.Leads() && !d.company.links.Reaches(d.dispatcher.Leader()) {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(settleEvery):
		}
	}
	if err != nil {
		d.log.Warn("nobody that is reached leads yet: pulls are answered when somebody does", "error", err)
	}
	return nil
}

// Bounds of the wait for a leader at the start, and how often it looks.
const (
	settleWithin = 5 * time.Second
	settleEvery  = 10 * time.Millisecond
)

// ready is /readyz: the daemon is not about to leave, and the database answers.
func (d *Daemon) ready(ctx context.Context) error {
	if d.life.leaving.Load() {
		return dispatcher.ErrStopping
	}
	if err := d.pool.Ping(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

func profiles() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return m
}
