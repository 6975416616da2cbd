package generator

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// tb is what helpers need of a test; rapid's tests have it too.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

const siteYAML = `
shares:
  - name: Prod
    weight: 70
    children: [{name: MC, weight: 50}, {name: Rep, weight: 30}]
  - {name: Wide, weight: 10}
  - {name: Test, weight: 5}
tags:
  - {match: {resource_type: "MCORE.*", working_group: GP_WIDE}, share: Wide}
  - {match: {label: managed, working_group: "GP_.*"}, share: Prod/MC}
  - {match: {label: managed, working_group: "GP_.*", campaign: x}, share: Prod/Rep}
  - {match: {label: test}, share: Test}
on_no_match: reject
queues:
  - {name: CERN, slots: 2000}
`

// world is a database with a site and a generator on it. Its log has no leader: what is said comes into it, and is folded, when a test
// settles or asks; or a dispatcher leads, see dispatch.
type world struct {
	*Generator
	*Submissions
	*Verbs
	*view.Reader
	db    *pgxpool.Pool
	store *site.Store
	stock []dispatcher.Stock
	book  *logbook
	leads *dispatchertest.Dispatcher // nil: nobody
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, pgtest.Open(t))
}

func newWorldOn(t testing.TB, db *pgxpool.Pool) *world {
	t.Helper()
	w := &world{db: db}
	w.store = site.NewStore(site.Config{Pool: w.db, Hooks: hooks(nil)})
	w.book = newLogbook(db, w.store)
	w.exec(t, jobViews)
	w.apply(t, siteYAML)
	if _, err := intake.Extend(t.Context(), db, 1_000_000, 1_000_000); err != nil {
		t.Fatal(err)
	}
	w.generateBy(w.config())
	return w
}

// hooks are those of the daemon.
func hooks(ahead func(ctx context.Context, from, to shares.ShareID) (bool, error)) site.Hooks {
	return site.Hooks{Barrier: intake.Barrier, Live: view.Live, Applied: intake.Rebase, Ahead: ahead,
		Move: func(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
			if err := MoveShare(ctx, tx, from, to); err != nil {
				return err
			}
			return intake.MoveShare(ctx, tx, from, to)
		}}
}

// jobViews show what became of jobs, as of folded: those that are live, and those that are over.
const jobViews = `
CREATE VIEW made_jobs AS
SELECT j.*, b.task_id, b.share_id, b.shape_id, b.priority, b.max_attempts, b.made_at,
	EXISTS (SELECT FROM scaled_away a WHERE a.task_id = b.task_id AND j.id BETWEEN a.low AND a.high) AS scaled_away
FROM job_blocks b JOIN jobs j ON j.id BETWEEN b.low AND b.high;
CREATE VIEW live_jobs AS
SELECT m.id, m.task_id, m.idx, m.inputs, m.first_event, m.n_events, m.retry_of, m.priority, m.max_attempts, m.made_at, m.scaled_away,
	CASE i.state WHEN 'r' THEN 'ready' ELSE 'waiting' END AS state, false AS leased, i.attempt, i.place, i.share AS share_id, i.shape AS shape_id
FROM made_jobs m JOIN idle_ranges i ON m.id BETWEEN i.low AND i.high
UNION ALL
SELECT m.id, m.task_id, m.idx, m.inputs, m.first_event, m.n_events, m.retry_of, m.priority, m.max_attempts, m.made_at, m.scaled_away,
	'ready', true, l.attempt, l.place, n.share, l.shape
FROM made_jobs m JOIN held l ON l.job = m.id JOIN leases_now n ON n.job = l.job;
CREATE VIEW over_jobs AS
SELECT m.*, h.attempt, h.ended_at, CASE h.state WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' ELSE 'cancelled' END AS state
FROM made_jobs m JOIN history h ON h.job = m.id AND h.state IN ('f', 'x', 'c')
UNION ALL
SELECT m.*, coalesce((SELECT max(h.attempt) FROM history h WHERE h.job = m.id), 1), o.at, CASE o.state WHEN 'x' THEN 'failed' ELSE 'cancelled' END
FROM made_jobs m JOIN over_ranges o ON m.id BETWEEN o.low AND o.high;`

// generateBy has the world's generator made anew. However busy the machine is, it looks anew each time.
func (w *world) generateBy(cfg Config) {
	w.use(New(cfg))
	w.Reader = view.New(cfg.Pool, cfg.Site)
	w.Generator.broker = broker.New(broker.Config{Pool: cfg.Pool, Stock: cfg.Stock, Order: cfg.Order, Mark: cfg.Mark, Soon: time.Hour})
}

// use has a generator be the world's.
func (w *world) use(g *Generator) {
	w.Generator, w.Submissions, w.Verbs = g, g.Submissions(), g.Verbs()
}

// mark has generators keep another stock.
func (w *world) mark(m broker.Mark) {
	cfg := w.config()
	cfg.Mark = m
	w.generateBy(cfg)
}

func (w *world) config() Config {
	return Config{Pool: w.db, Site: w.store.Load, Stock: func() []dispatcher.Stock { return w.stock }, Written: func() {
		if w.leads != nil {
			w.leads.Written()
		}
	}}
}

// dispatch has a dispatcher lead from now on.
func (w *world) dispatch(t testing.TB, with ...func(*dispatcher.Config)) *dispatchertest.Dispatcher {
	t.Helper()
	w.leads = dispatchertest.Open(t, w.db, w.store, with...)
	return w.leads
}

// log brings what was said into the log, and folds it.
func (w *world) log(ctx context.Context) error {
	if w.leads != nil {
		w.leads.Settle()
		return nil
	}
	return w.book.sync(ctx)
}

// fold brings what was said into the log, and folds it.
func (w *world) fold(t tb) {
	t.Helper()
	if err := w.log(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Settle is the generator's, behind the log.
func (w *world) Settle(ctx context.Context) (int, error) {
	if err := w.log(ctx); err != nil {
		return 0, err
	}
	return w.Generator.Settle(ctx)
}

func (w *world) apply(t tb, yaml string) {
	t.Helper()
	if _, err := w.store.Apply(context.Background(), site.ApplyRequest{Source: []byte(yaml), By: "test"}); err != nil {
		t.Fatal(err)
	}
}

// managed is a task that the rules send to Prod/MC.
func managed(change func(*spec.Spec)) spec.Spec {
	s := spec.Spec{Name: "evgen", User: "alice", Kind: spec.Kind{Label: "managed", WorkingGroup: "GP_PHYS"}, Count: 10,
		Command: []string{"echo", "{{.Index}}"}}
	if change != nil {
		change(&s)
	}
	return s
}

func (w *world) submit(t tb, s spec.Spec) view.Task {
	t.Helper()
	task, err := w.Submit(context.Background(), SubmitRequest{Spec: s})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func (w *world) task(t tb, id int64) view.Task {
	t.Helper()
	task, err := w.Task(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// steps runs a step until it has nothing to do.
func steps(t tb, step func(context.Context) (int, error)) (total int) {
	t.Helper()
	for range 1000 {
		n, err := step(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n == 0 {
			return total
		}
	}
	t.Fatal("the step never comes to rest")
	return 0
}

// jobs is one value of what a query makes of jobs, of all that was said until now.
func jobs[T any](t tb, w *world, sql string, args ...any) T {
	t.Helper()
	w.fold(t)
	return one[T](t, w.db, sql, args...)
}

// one reads a single value.
func one[T any](t tb, db *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (w *world) exec(t tb, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
