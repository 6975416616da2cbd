package generator

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
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

// world is a database with a site and a generator on it.
type world struct {
	*Generator
	db    *pgxpool.Pool
	store *site.Store
	stock []dispatcher.Stock
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, pgtest.Open(t))
}

func newWorldOn(t testing.TB, db *pgxpool.Pool) *world {
	t.Helper()
	w := &world{db: db}
	w.store = site.NewStore(site.Config{Pool: w.db})
	w.apply(t, siteYAML)
	w.generateBy(w.config())
	return w
}

// generateBy has the world's generator made anew. However busy the machine is, it looks anew each time.
func (w *world) generateBy(cfg Config) {
	w.Generator = New(cfg)
	w.outlook.soon = time.Hour
}

func (w *world) config() Config {
	return Config{Pool: w.db, Site: w.store.Load, Stock: func() []dispatcher.Stock { return w.stock }}
}

func (w *world) apply(t tb, yaml string) {
	t.Helper()
	if _, err := w.store.Apply(context.Background(), site.ApplyRequest{Source: []byte(yaml), By: "test"}); err != nil {
		t.Fatal(err)
	}
}

// managed is a task that the rules send to Prod/MC.
func managed(change func(*Spec)) Spec {
	s := Spec{Name: "evgen", User: "alice", Label: "managed", WorkingGroup: "GP_PHYS", Count: 10,
		Command: []string{"echo", "{{.Index}}"}}
	if change != nil {
		change(&s)
	}
	return s
}

func (w *world) submit(t tb, s Spec) Task {
	t.Helper()
	task, err := w.Submit(context.Background(), SubmitRequest{Spec: s})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func (w *world) task(t tb, id int64) Task {
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
