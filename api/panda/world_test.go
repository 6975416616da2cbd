package panda

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
)

const siteYAML = `
shares:
  - {name: Prod, weight: 70}
  - {name: User, weight: 30}
queues:
  - {name: LOCAL_TEST, slots: 5000, cores: 8}
  - {name: OTHER, slots: 10}
`

// world is a site with a dispatcher and a generator that work, and these routes in front of them.
type world struct {
	t          *testing.T
	db         *pgxpool.Pool
	dispatcher *dispatchertest.Dispatcher
	generator  *generator.Generator
	known      *view.Reader
	url        string
}

// worlds has a place for each that there may be at once: each may open six connections, and the server takes 200.
var worlds = make(chan struct{}, 8)

// newWorld makes one, one for a test. Tests that have their own run beside each other: each of them waits for the database most of the time.
func newWorld(t *testing.T, with ...func(*dispatcher.Config)) *world {
	t.Helper()
	t.Parallel()
	worlds <- struct{}{}
	t.Cleanup(func() { <-worlds })
	w := &world{t: t, db: pgtest.Open(t)}
	store := site.NewStore(site.Config{Pool: w.db, Hooks: site.Hooks{Barrier: intake.Barrier, Live: view.Live, Applied: intake.Rebase}})
	if _, err := store.Apply(t.Context(), site.ApplyRequest{Source: []byte(siteYAML), By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.dispatcher = dispatchertest.Open(t, w.db, store, with...)
	w.known = view.New(w.db, store.Load)
	w.generator = generator.New(generator.Config{Pool: w.db, Site: store.Load, Stock: w.dispatcher.Stock, Mark: broker.Mark{Floor: 600, Batch: 600}})
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, step := range []func(context.Context) (int, error){w.generator.Generate, w.generator.Settle} {
		loops.Go(func() { w.tick(ctx, step) })
	}
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: w.dispatcher, Tasks: w.known, Wait: 10 * time.Second})
	server := httptest.NewServer(routes)
	w.url = server.URL
	t.Cleanup(func() {
		server.Close()
		stop()
		loops.Wait()
	})
	return w
}

// in is the world as a subtest uses it.
func (w *world) in(t *testing.T) *world {
	same := *w
	same.t, same.dispatcher = t, w.dispatcher.In(t)
	return &same
}

// tick calls a step until ctx ends, less often while there is nothing to do.
func (w *world) tick(ctx context.Context, step func(context.Context) (int, error)) {
	const soon = 20 * time.Millisecond
	for rest := soon; ctx.Err() == nil; rest = min(rest*3/2, 100*time.Millisecond) {
		did, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			w.t.Errorf("a step: %v", err)
			return
		}
		if did > 0 {
			rest = soon
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}

// submit makes a task of n jobs.
func (w *world) submit(n int64, attempts int, command ...string) view.Task {
	w.t.Helper()
	task, err := w.generator.Submissions().Submit(context.Background(), generator.SubmitRequest{Spec: spec.Spec{Name: "sim", User: "alice",
		Kind: spec.Kind{Label: "managed", ProcessingType: "simul", WorkingGroup: "AP_HIGG"}, Share: "Prod", Count: n, Attempts: spec.Attempts{MaxAttempts: attempts}, Command: command,
		Env: map[string]string{"COLOUR": "dark red"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

// job is how a job stands, when all that was said of it is in the tables.
func (w *world) job(id int64) dispatcher.JobRow {
	w.t.Helper()
	w.dispatcher.Settle()
	j, err := w.dispatcher.Job(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// attempt is the last attempt of a job.
func (w *world) attempt(id int64) dispatcher.Attempt {
	w.t.Helper()
	j := w.job(id)
	if len(j.Attempts) == 0 {
		w.t.Fatalf("job %d has no attempt", id)
	}
	return j.Attempts[len(j.Attempts)-1]
}

// until waits for what is to happen soon.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	w.dispatcher.Until(what, holds)
}

// post sends a body as it is and returns the answer, which must be a JSON object.
func post(t testing.TB, url, contentType string, body []byte) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer mock-token")
	r.Header.Set("Origin", "wlcg.pilot")
	r.Header.Set("User-Agent", "pilot/3.11.5.1 (Python 3.11.7; Linux x86_64)")
	r.Header.Set("Accept-Encoding", "identity")
	r.Close = true
	return ask(t, r)
}

func ask(t testing.TB, r *http.Request) (int, map[string]any) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if c := resp.Header.Get("Content-Encoding"); c != "" || resp.ContentLength != int64(len(b)) {
		t.Fatalf("%s: encoded as %q, length %d of %d", r.URL, c, resp.ContentLength, len(b))
	}
	var a map[string]any
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%s: %v in %q", r.URL, err, b)
	}
	return resp.StatusCode, a
}

func asJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// asValue is a value as JSON has it.
func asValue(t testing.TB, v any) (out any) {
	t.Helper()
	if err := json.Unmarshal(asJSON(t, v), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
