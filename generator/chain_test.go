package generator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/chain"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// needing is a managed task that needs others.
func needing(change func(*spec.Spec), needs ...spec.Need) spec.Spec {
	return managed(func(s *spec.Spec) {
		s.Name, s.Needs = "reco", needs
		if change != nil {
			change(s)
		}
	})
}

// fedBy takes outputs as inputs.
func fedBy(s *spec.Spec) { s.Count, s.PerJob = 0, 2 }

// turn lets every step see what has happened.
func (w *world) turn(t tb) {
	t.Helper()
	for range 2 {
		steps(t, w.Settle)
		steps(t, w.Chain)
		steps(t, w.Generate)
	}
	steps(t, w.Settle)
}

// report gives finished jobs without one an attempt that made one output, as ends of attempts do in the transaction of the end.
func (w *world) reportOutputs(t tb) {
	t.Helper()
	w.exec(t, `INSERT INTO attempt_texts (job_id, ended_on, attempt, outputs)
		SELECT e.id, (e.ended_at AT TIME ZONE 'UTC')::date, e.attempt, jsonb_build_object('hits.' || e.idx || '.root', 1, 'log.' || e.idx, 1)
		FROM over_jobs e WHERE e.state = 'finished' AND NOT EXISTS (SELECT FROM attempt_texts a WHERE a.job_id = e.id)`)
}

// run leases and ends so many jobs.
func (w *world) run(t tb, f *fleet, n int, outcome string) {
	t.Helper()
	if got := f.lease(t, n); got != n {
		t.Fatalf("%d jobs leased, want %d", got, n)
	}
	f.end(t, outcome, n)
	w.reportOutputs(t)
	w.turn(t)
}

func TestNeedsWaitForTheWholeTask(t *testing.T) {
	for _, c := range []struct {
		when, outcome, state, reason string
	}{
		{"", "finished", "ready", ""},
		{spec.WhenDone, "failed", "failed", "needs task %d (evgen), which is failed"},
		{spec.WhenFinished, "failed", "failed", "needs task %d (evgen), which is failed"},
		{spec.WhenAny, "failed", "ready", ""},
	} {
		t.Run(c.when+"_"+c.outcome, func(t *testing.T) {
			w := newWorld(t)
			f := &fleet{db: w}
			a := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.MaxAttempts = 2, 1 }))
			b := w.submit(t, needing(nil, spec.Need{Task: a.ID, When: c.when}))
			if want := fmt.Sprintf("waits for task %d (evgen)", a.ID); b.State != "waiting" || b.Reason != want {
				t.Fatalf("submitted as %s: %s", b.State, b.Reason)
			}
			after := w.submit(t, needing(nil, spec.Need{Task: b.ID}))
			w.turn(t)
			w.run(t, f, 1, c.outcome)
			if got := w.task(t, b.ID); got.State != "waiting" {
				t.Errorf("half of it over: %s", got.State)
			}
			w.run(t, f, 1, c.outcome)
			got, want := w.task(t, b.ID), c.reason
			if want != "" {
				want = fmt.Sprintf(want, a.ID)
			}
			if got.State != c.state || got.Reason != want || (got.EndedAt != nil) != judge.Final(c.state) {
				t.Errorf("%s: %s, ended %v", got.State, got.Reason, got.EndedAt)
			}
			if third := w.task(t, after.ID); (third.State == "failed") != (c.state == "failed") {
				t.Errorf("who needs it is %s", third.State)
			}
		})
	}
}

// A killed task takes with it who needs it, unless they don't mind; the site changing does not start who waits.
func TestNeedsOfAKilledTask(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	a := w.submit(t, managed(nil))
	b := w.submit(t, needing(nil, spec.Need{Task: a.ID, When: spec.WhenFinished}))
	any1 := w.submit(t, needing(nil, spec.Need{Task: a.ID, When: spec.WhenAny}))
	w.apply(t, siteYAML+"  - {name: DESY, slots: 10}\n")
	steps(t, w.Sweep)
	if got := w.task(t, b.ID); got.State != "waiting" {
		t.Errorf("the site changed: %s", got.State)
	}
	if _, err := w.Say(ctx, VerbKill, a.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.turn(t)
	if got := w.task(t, b.ID); got.State != "failed" || !strings.Contains(got.Reason, "which is aborted") {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
	if got := w.task(t, any1.ID); got.State != "ready" {
		t.Errorf("any: %s", got.State)
	}
	var se *judge.StateError
	if _, err := w.Say(ctx, VerbRetry, b.ID, nil); !errors.As(err, &se) || !strings.Contains(err.Error(), "retry that one first") {
		t.Errorf("retry: %v", err)
	}
	c := w.submit(t, needing(nil, spec.Need{Task: any1.ID}))
	if _, err := w.Say(ctx, VerbKill, c.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.turn(t)
	if left := one[string](t, w.db, "SELECT state FROM task_needs WHERE task_id = $1", c.ID); left != "open" && left != "left" {
		t.Errorf("need of a killed task: %s", left)
	}
}

// Retry of the needed task, then of who failed with it.
func TestRetryAlongAChain(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	a := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.MaxAttempts = 2, 1 }))
	b := w.submit(t, needing(func(s *spec.Spec) { s.Count = 3 }, spec.Need{Task: a.ID}))
	w.turn(t)
	w.run(t, f, 2, "failed")
	if _, err := w.Say(ctx, VerbRetry, a.ID, nil); err != nil {
		t.Fatal(err)
	}
	if c, err := w.Say(ctx, VerbRetry, b.ID, nil); err != nil || c.After != "waiting" {
		t.Fatalf("%+v, %v", c, err)
	}
	w.turn(t)
	w.run(t, f, 2, "finished")
	w.run(t, f, 3, "finished")
	if got := w.task(t, b.ID); got.State != "done" || got.Jobs.Finished != 3 {
		t.Errorf("%+v", got)
	}
	w.recount(t)
}

// Outputs become inputs while the task that makes them runs, and the last piece has what is left.
func TestOutputsAreInputs(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	a := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.MaxAttempts = 5, 1 }))
	piecewise := w.submit(t, needing(fedBy, spec.Need{Task: a.ID, Per: spec.PerInput, Outputs: "*.root"}))
	whole := w.submit(t, needing(fedBy, spec.Need{Task: a.ID, When: spec.WhenDone, Outputs: "hits.*"}))
	w.turn(t)
	w.run(t, f, 2, "finished")
	if got := w.task(t, piecewise.ID); got.Inputs != 2 || got.Jobs.Ready != 1 {
		t.Errorf("two of five: %+v", got)
	}
	if got := w.task(t, whole.ID); got.State != "waiting" || got.Inputs != 2 || got.Jobs.Ready != 0 {
		t.Errorf("two of five, waits: %+v", got)
	}
	f.lease(t, 10)
	f.end(t, "finished", 10)
	w.reportOutputs(t)
	w.turn(t)
	for _, id := range []int64{piecewise.ID, whole.ID} {
		w.turn(t)
		if got := w.task(t, id); got.Pieces != 3 || got.Inputs != 5 || got.Jobs.Total != 3 {
			t.Errorf("all: %+v", got)
		}
	}
	for range 3 {
		f.lease(t, 10)
		f.end(t, "finished", 10)
		w.turn(t)
	}
	for _, id := range []int64{piecewise.ID, whole.ID} {
		if got := w.task(t, id); got.State != "done" || got.Jobs.Finished != 3 {
			t.Errorf("%+v", got)
		}
		names := jobs[[]string](t, w, "SELECT array_agg(i ORDER BY i) FROM over_jobs, unnest(inputs) i WHERE task_id = $1", id)
		if want := []string{"hits.0.root", "hits.1.root", "hits.2.root", "hits.3.root", "hits.4.root"}; !slices.Equal(names, want) {
			t.Errorf("inputs %v", names)
		}
	}
	w.recount(t)
}

func TestNoOutputs(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	a := w.submit(t, managed(func(s *spec.Spec) { s.Count = 1 }))
	b := w.submit(t, needing(fedBy, spec.Need{Task: a.ID, Per: spec.PerInput, Outputs: "*.nothing"}))
	w.turn(t)
	w.run(t, f, 1, "finished")
	if got := w.task(t, b.ID); got.State != "failed" || !strings.Contains(got.Reason, "no outputs") {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
}

// A piece becomes a job when the pieces that it corresponds to are over, in whatever order and size.
func TestPiecesFollowPieces(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	a := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Events, s.MaxAttempts = 0, &spec.Events{Total: 95, PerJob: 10}, 1 }))
	b := w.submit(t, needing(func(s *spec.Spec) { s.Count, s.Events, s.Priority = 0, &spec.Events{Total: 95, PerJob: 20}, 5 },
		spec.Need{Task: a.ID, Per: spec.PerInput}))
	w.turn(t)
	if b = w.task(t, b.ID); b.State != "ready" || b.Pieces != 5 || b.Jobs.Ready != 0 {
		t.Fatalf("%+v", b)
	}
	f.prefer(t, a.ID, 2, 3, 9)
	w.run(t, f, 3, "finished")
	events := func() []int64 {
		return jobs[[]int64](t, w, `SELECT coalesce(array_agg(first_event ORDER BY first_event), '{}')
			FROM (SELECT task_id, first_event FROM live_jobs UNION ALL SELECT task_id, first_event FROM over_jobs) j WHERE task_id = $1`, b.ID)
	}
	if got := events(); !slices.Equal(got, []int64{20}) {
		t.Errorf("pieces from events %v on, want 20", got)
	}
	w.run(t, f, 1, "finished") // the one of b, by its priority
	f.lease(t, 7)
	f.end(t, "finished", 3)
	f.end(t, "failed", 4)
	w.turn(t)
	f.lease(t, 10)
	f.end(t, "finished", 10)
	w.turn(t)
	got := w.task(t, b.ID)
	if got.State != "finished" || !strings.Contains(got.Reason, "which is finished") {
		t.Fatalf("%+v", got)
	}
	// What had failed is tried again, and whoever follows it goes on.
	if _, err := w.Say(ctx, VerbRetry, a.ID, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Say(ctx, VerbRetry, b.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.turn(t)
	for range 4 {
		f.lease(t, 10)
		f.end(t, "finished", 10)
		w.turn(t)
	}
	if got := w.task(t, b.ID); got.State != "done" || got.Jobs.Finished != 5 || !slices.Equal(events(), []int64{0, 20, 40, 60, 80}) {
		t.Errorf("%+v, events %v", got, events())
	}
	w.recount(t)
}

func TestNeedsThatCannotBe(t *testing.T) {
	w := newWorld(t)
	a := w.submit(t, managed(nil))
	open := w.submit(t, managed(streamed))
	fed := w.submit(t, needing(fedBy, spec.Need{Task: a.ID, Outputs: "*"}))
	for _, c := range []struct {
		spec spec.Spec
		want string
	}{
		{needing(nil, spec.Need{Task: 1 << 40}), "there is no task"},
		{needing(nil, spec.Need{Name: "evgen"}), "needs[0].task: is a name"},
		{needing(nil, spec.Need{}), "needs[0].task: is missing"},
		{needing(nil, spec.Need{Task: a.ID}, spec.Need{Task: a.ID}), "needs[1].task: is needed twice"},
		{needing(nil, spec.Need{Task: a.ID, When: "soon"}), "needs[0].when"},
		{needing(nil, spec.Need{Task: a.ID, Outputs: "*"}), "together with count"},
		{needing(func(s *spec.Spec) { s.Count = 9 }, spec.Need{Task: a.ID, Per: spec.PerInput}), "has 10 jobs, this one 9 jobs"},
		{needing(fedBy, spec.Need{Task: a.ID, Outputs: "*"}, spec.Need{Task: open.ID, Per: spec.PerInput}), "both outputs and per: input"},
		{needing(nil, spec.Need{Task: open.ID, Per: spec.PerInput}), "are not all there"},
		{needing(nil, spec.Need{Task: fed.ID, Per: spec.PerInput}), "not known in advance"},
	} {
		_, err := w.Submit(context.Background(), SubmitRequest{Spec: c.spec})
		if !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec.Needs, err, c.want)
		}
	}
}

// Whatever happens to a task in whatever order, who follows it has each of its outputs once, and each of its pieces once.
func TestChainsFollowExactlyOnce(t *testing.T) {
	w := newWorld(t)
	for seed := range uint64(pgtest.Draws(40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { w.followed(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

// followed lets a task and two that follow it live through something, and then finish.
func (w *world) followed(t *testing.T, r *rand.Rand) {
	ctx := context.Background()
	f := &fleet{db: w}
	n, per, step := 1+r.Int64N(12), 1+r.Int64N(6), 1+r.Int64N(9)
	a := w.submit(t, managed(func(s *spec.Spec) {
		s.Count, s.Events, s.MaxAttempts = 0, &spec.Events{Total: n * per, PerJob: per}, 1+r.IntN(3)
	}))
	fed := w.submit(t, needing(fedBy, spec.Need{Task: a.ID, Per: spec.PerInput, Outputs: "*.root"}))
	when := []string{spec.WhenDone, spec.WhenAny}[r.IntN(2)]
	b := w.submit(t, needing(func(s *spec.Spec) { s.Count, s.Events = 0, &spec.Events{Total: n * per, PerJob: step} }, spec.Need{Task: a.ID, Per: spec.PerInput, When: when}))
	ids := []int64{a.ID, fed.ID, b.ID}
	for range 1 + r.IntN(25) {
		switch r.IntN(10) {
		case 8, 9:
			w.turn(t)
		case 7:
			f.lease(t, 1+r.IntN(4))
			f.end(t, splitSmaller, 1+r.IntN(4))
			if r.IntN(2) == 0 {
				steps(t, w.Sweep)
			}
		case 0, 1:
			f.lease(t, 1+r.IntN(4))
			f.end(t, "finished", 1+r.IntN(4))
			w.reportOutputs(t)
		case 2:
			f.lease(t, 1)
			f.end(t, "failed", 1)
		case 3:
			steps(t, w.Settle)
		case 4:
			if _, err := w.Chain(ctx); err != nil {
				t.Fatal(err)
			}
		case 5:
			steps(t, w.Generate)
		case 6:
			for _, id := range ids {
				if _, err := w.Say(ctx, VerbRetry, id, nil); err != nil && !errors.Is(err, judge.ErrState) {
					t.Fatal(err)
				}
			}
		}
	}
	w.finishAll(t, f, ids)
	w.recount(t)
	if when == spec.WhenDone {
		w.notBefore(t, b.ID, a.ID)
	}
	halves := func(id int64) int64 { return one[int64](t, w.db, "SELECT count(*) FROM halves WHERE task_id = $1", id) }
	outputs := n + halves(a.ID)
	for id, pieces := range map[int64]int64{a.ID: outputs, fed.ID: spec.Ceil(outputs, 2) + halves(fed.ID), b.ID: spec.Ceil(n*per, step) + halves(b.ID)} {
		if got := w.task(t, id); got.State != "done" || got.Jobs.Finished != pieces {
			t.Errorf("task %d, %d pieces: %+v", id, pieces, got)
		}
	}
	inputs := jobs[string](t, w, "SELECT count(DISTINCT i) || ' of ' || count(*) FROM over_jobs, unnest(inputs) i WHERE task_id = $1 AND state = 'finished'", fed.ID)
	if want := fmt.Sprintf("%d of %d", outputs, outputs); inputs != want {
		t.Errorf("inputs %s, want %s", inputs, want)
	}
	for _, id := range []int64{a.ID, b.ID} {
		if got := jobs[string](t, w, `SELECT sum(n_events) || ' from ' || min(first_event) || ', ' || count(*) FILTER (WHERE first_event < behind)
			FROM (SELECT first_event, n_events, lag(first_event + n_events) OVER (ORDER BY first_event) AS behind FROM over_jobs
				WHERE task_id = $1 AND state = 'finished') e`, id); got != fmt.Sprintf("%d from 0, 0", n*per) {
			t.Errorf("events of task %d: %s", id, got)
		}
	}
}

// notBefore says that no job of a task was made before all events that it shares with another task's had finished there: jobs have
// ids as they are made, and here they end one after the other.
func (w *world) notBefore(t *testing.T, id, needs int64) {
	t.Helper()
	early := jobs[string](t, w, `SELECT coalesce(string_agg(b.id::text, ' '), '')
		FROM (SELECT id, first_event, n_events, made_at FROM live_jobs WHERE task_id = $1
			UNION ALL SELECT id, first_event, n_events, made_at FROM over_jobs WHERE task_id = $1) b
		WHERE b.n_events > (SELECT coalesce(sum(least(a.first_event + a.n_events, b.first_event + b.n_events) - greatest(a.first_event, b.first_event)), 0)
			FROM over_jobs a WHERE a.task_id = $2 AND a.state = 'finished' AND a.ended_at <= b.made_at
				AND a.first_event < b.first_event + b.n_events AND b.first_event < a.first_event + a.n_events)`, id, needs)
	if early != "" {
		t.Errorf("jobs %s of task %d came too early", early, id)
	}
}

// finishAll lets everything finish, trying again what failed.
func (w *world) finishAll(t tb, f *fleet, ids []int64) {
	t.Helper()
	for range 50 {
		steps(t, w.Sweep)
		w.turn(t)
		f.lease(t, 1000)
		f.end(t, "finished", 1000)
		w.reportOutputs(t)
		w.turn(t)
		left := 0
		for _, id := range ids {
			if w.task(t, id).State == "done" {
				continue
			}
			left++
			if _, err := w.Say(context.Background(), VerbRetry, id, nil); err != nil && !errors.Is(err, judge.ErrState) {
				t.Fatal(err)
			}
		}
		if left == 0 {
			return
		}
	}
	t.Fatal("it never ends")
}

// madeOf makes so many jobs of a task with ids from 1, of which the first is live and the others are as good as over.
func (w *world) madeOf(t tb, task, n int64) {
	t.Helper()
	w.fold(t)
	w.exec(t, "INSERT INTO jobs (id, idx) SELECT i + 1, i::bigint * 7919 % $1 FROM generate_series(0, $1::bigint - 1) i", n)
	w.exec(t, `INSERT INTO job_blocks (low, high, task_id, share_id, shape_id, priority, max_attempts, again)
		SELECT i + 1, least(i + 5000, $2::bigint), id, share_id, shape_id, 0, 3, false FROM tasks, generate_series(0, $2::bigint - 1, 5000) i
		WHERE id = $1`, task, n)
	w.exec(t, `INSERT INTO idle_ranges (high, low, task, place, share, shape, attempt, state)
		SELECT 1, 1, id, 0, share_id, shape_id, 1, 'r' FROM tasks WHERE id = $1`, task)
	w.exec(t, `INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name)
		VALUES ($1, 1, 0, $2::bigint - 1, 0, 0, 0, 0, 'alice')`, task, n)
	w.exec(t, "UPDATE tasks SET state = 'running', n_generated = n_jobs, n_split = n_jobs, started_at = now() WHERE id = $1", task)
}

// endedOf has jobs of a task finish, by their ids.
func (w *world) endedOf(t tb, task, low, high int64) {
	t.Helper()
	w.exec(t, `INSERT INTO history (job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code,
			memory_mb, outcome, state, pilot, node)
		SELECT i, 1, id, 1000, now(), now(), 0, 1, share_id, shape_id, 1, 0, 0, 0, 'f', 'f', 'p', 'n'
		FROM tasks, generate_series($2::bigint, $3::bigint) i WHERE id = $1`, task, low, high)
	w.exec(t, "UPDATE task_counts SET held = held - $2::bigint, finished = finished + $2::bigint WHERE task = $1", task, high-low+1)
}

// A round goes on behind a page of ended jobs all of which are known, as those before the first that has not ended are in each round.
func TestRoundsPassWhatIsKnown(t *testing.T) {
	w := newWorld(t)
	const n = 2*chain.Ends + 3
	a := w.submit(t, managed(func(s *spec.Spec) { s.Count = n })).ID
	b := w.submit(t, needing(func(s *spec.Spec) { s.Count = n }, spec.Need{Task: a, Per: spec.PerInput})).ID
	w.madeOf(t, a, n)
	last := int64(1)
	for _, high := range []int64{chain.Ends + 1, 2*chain.Ends + 1, n} {
		w.endedOf(t, a, last+1, high)
		last = high
		if served, err := w.Chain(t.Context()); err != nil || served > 3*(chain.Ends+1) {
			t.Fatalf("%d ended jobs were looked at, %v", served, err)
		}
		if got := one[int64](t, w.db, "SELECT n_released FROM tasks WHERE id = $1", b); got != last-1 {
			t.Fatalf("%d pieces may be jobs, want %d", got, last-1)
		}
	}
}

// The chain that docs/files.md shows can be submitted, in the order that it names.
func TestDocumentedChain(t *testing.T) {
	page, err := os.ReadFile("../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "### Tasks that need others\n\n```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	specs, err := spec.ParseSpecs("chain.yml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	ids := map[string]int64{}
	order, err := spec.Order(specs)
	for _, i := range order {
		s := specs[i].Bound(ids)
		s.Label = "test"
		ids[s.Name] = w.submit(t, s).ID
	}
	merge := w.task(t, ids["merge"])
	if err != nil || len(ids) != 3 || merge.State != "waiting" || len(merge.Needs) != 1 || merge.Needs[0].Name != "reco" {
		t.Errorf("%v: %+v", err, merge)
	}
	if sim := w.task(t, ids["sim"]); !slices.Equal(sim.NeededBy, []int64{ids["reco"]}) {
		t.Errorf("needed by %v", sim.NeededBy)
	}
}
