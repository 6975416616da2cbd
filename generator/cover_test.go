package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
)

// coverage is a task, and what its jobs are to cover: the events of each of its inputs, those of the input "" where it has none.
type coverage struct {
	*world
	fleet *fleet
	task  int64
	want  map[string]int64
	says  map[string]bool // that were submitted with their number of events
	plain bool            // retry may change requirements
}

// Whatever happens to a task, in whatever order: no event is in two pieces that are live or have finished, and once the task
// is done each is in exactly one that has finished.
func TestPiecesCoverTheInput(t *testing.T) {
	w := splitWorld(t)
	w.mark(broker.Mark{Batch: 4})
	rapid.Check(t, func(t *rapid.T) {
		w.reset(t)
		w.apply(t, splitSite)
		c := w.drawCoverage(t)
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			c.step(t)
			c.check(t, false)
		}
		if rapid.IntRange(0, 4).Draw(t, "kill it, and try it again") == 0 {
			c.killed(t)
		}
		c.toTheEnd(t)
		c.check(t, true)
		w.recount(t)
	})
}

// drawCoverage submits a task of any kind that has pieces of inputs or events.
func (w *world) drawCoverage(t *rapid.T) *coverage {
	c := &coverage{world: w, want: map[string]int64{}, says: map[string]bool{}}
	c.fleet = &fleet{db: w}
	written := splitting(func(s *spec.Spec) {
		s.MaxAttempts = rapid.IntRange(1, 4).Draw(t, "attempts")
		s.Scout = max(0, rapid.IntRange(-3, 4).Draw(t, "scouts"))
	})
	kind := rapid.SampledFrom([]string{"plain events", "plain inputs", "events that fit", "inputs that fit", "inputs by weight", "located inputs"}).Draw(t, "kind")
	if c.plain = strings.HasPrefix(kind, "plain"); strings.Contains(kind, "events") {
		written.Events = &spec.Events{Total: rapid.Int64Range(1, 300).Draw(t, "events")}
		c.want[""] = written.Events.Total
	} else {
		written.Inputs = c.drawInputs(t, kind)
	}
	each := rapid.Int64Range(1, 40).Draw(t, "per job")
	by := rapid.SampledFrom([]string{"", spec.ByInputs, spec.ByEvents, spec.ByBytes}).Draw(t, "by")
	cpu := rapid.SampledFrom([]float64{0, 100}).Draw(t, "cpu")
	switch kind {
	case "plain events":
		written.Events.PerJob = each
	case "plain inputs", "located inputs":
		written.PerJob = each%5 + 1
	case "events that fit":
		written.Split = &spec.Split{Fit: true, PerJob: each, CPUPerEvent: max(cpu, 10)}
	case "inputs that fit":
		written.Split = &spec.Split{Fit: true, By: by, PerJob: each, PerQueue: true, CPUPerEvent: cpu}
	case "inputs by weight":
		written.Split = &spec.Split{By: by, PerJob: each}
	}
	c.task = w.submit(t, written).ID
	return c
}

func (c *coverage) drawInputs(t *rapid.T, kind string) (inputs []spec.Input) {
	for i := range rapid.IntRange(1, 20).Draw(t, "inputs") {
		in := spec.Input{Name: fmt.Sprint("f", i)}
		if kind != "plain inputs" {
			in.Events = rapid.SampledFrom([]int64{0, 1, 30, 70}).Draw(t, "events")
			in.Size = rapid.Int64Range(0, 60).Draw(t, "size")
		}
		if kind == "located inputs" && rapid.Bool().Draw(t, "located") {
			in.Locations = []string{"EOS"}
		}
		inputs, c.want[in.Name], c.says[in.Name] = append(inputs, in), max(in.Events, 1), in.Events > 0
	}
	return inputs
}

// step is something that may happen.
func (c *coverage) step(t *rapid.T) {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	switch what := rapid.SampledFrom([]string{"generate", "generate", "lease", "lease", "finished", "failed", "lost", splitSmaller, splitSmaller, "kill jobs",
		"settle", "sweep", "site", "say", "say", "retry with changes"}).Draw(t, "step"); what {
	case "generate":
		if _, err := c.Generate(context.Background()); err != nil {
			t.Fatal(err)
		}
	case "lease":
		c.fleet.lease(t, n)
	case "finished":
		c.measured(t, n, rapid.Float64Range(1, 1000).Draw(t, "cpu of a job"), 100)
	case "failed", "lost":
		c.fleet.end(t, what, n)
	case splitSmaller: // by a rule, and what follows at once as it mostly does
		c.fleet.lease(t, n)
		c.fleet.end(t, what, n)
		if rapid.Bool().Draw(t, "at once") {
			steps(t, c.Sweep)
		}
	case "kill jobs":
		c.fleet.kill(t, n)
	case "settle":
		c.settled(t, c.task)
	case "sweep":
		steps(t, c.Sweep)
	case "site":
		hours := rapid.SampledFrom([]string{"20m", "2h", "9h"}).Draw(t, "walltime")
		c.apply(t, strings.Replace(splitSite, "walltime: 1h", "walltime: "+hours, 1))
	case "say":
		c.say2(t, rapid.SampledFrom([]Verb{VerbPause, VerbResume, VerbFinish, VerbRetry, VerbAvalanche}).Draw(t, "verb"))
	case "retry with changes":
		attempts, memory := rapid.IntRange(1, 4).Draw(t, "attempts"), rapid.Int64Range(1, 1000).Draw(t, "memory")
		with := &spec.Changes{MaxAttempts: &attempts}
		if c.plain {
			with.MemoryMB = &memory
		}
		if _, err := c.Say(context.Background(), VerbRetry, c.task, with); err != nil && !errors.Is(err, judge.ErrState) {
			t.Fatal(err)
		}
	}
}

// say2 says a verb that may be refused.
func (c *coverage) say2(t *rapid.T, verb Verb) {
	if _, err := c.say1(verb, c.task); err != nil && !errors.Is(err, judge.ErrState) {
		t.Fatal(err)
	}
}

// killed kills the task, and sees that it ends without another job.
func (c *coverage) killed(t *rapid.T) {
	if _, err := c.Say(context.Background(), VerbKill, c.task, nil); errors.Is(err, judge.ErrState) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.settled(t, c.task)
		steps(t, c.Sweep)
		c.fleet.end(t, splitSmaller, 1000)
	}
	if got := c.settled(t, c.task); got.State != "aborted" {
		t.Fatalf("killed: %+v", got)
	}
	c.check(t, false)
	c.recount(t)
}

// toTheEnd undoes what keeps the task from being done, and lets everything finish.
func (c *coverage) toTheEnd(t *rapid.T) {
	for range 200 {
		for _, verb := range []Verb{VerbResume, VerbAvalanche, VerbRetry} {
			c.say2(t, verb)
		}
		steps(t, c.Sweep)
		steps(t, c.Generate)
		c.fleet.lease(t, 1000)
		c.measured(t, 1000, 50, 100)
		c.settled(t, c.task)
		steps(t, c.Sweep)
		got := c.settled(t, c.task)
		if got.State == "done" || got.State == "aborted" && got.Jobs.Finished == got.Pieces { // killed when all had finished
			return
		}
	}
	t.Fatalf("never done: %+v", c.task)
}

// coveringJob is one that is live or has finished.
type coveringJob struct {
	ID         int64
	Idx        int64
	Inputs     []string
	FirstEvent int64
	NEvents    int64
}

// check compares the jobs that count with what there is; all says that they are to have all of it.
func (c *coverage) check(t *rapid.T, all bool) {
	rows, err := c.db.Query(context.Background(), `SELECT id, idx, inputs, coalesce(first_event, 0) AS first_event, coalesce(n_events, 0) AS n_events
		FROM (SELECT id, task_id, idx, inputs, first_event, n_events FROM live_jobs
			UNION ALL SELECT id, task_id, idx, inputs, first_event, n_events FROM over_jobs WHERE state = 'finished') j
		WHERE task_id = $1 ORDER BY id`, c.task)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := pgx.CollectRows(rows, pgx.RowToStructByName[coveringJob])
	if err != nil {
		t.Fatal(err)
	}
	have, indexes := map[string][]stored.Span{}, map[int64]int64{}
	for _, j := range jobs {
		if other, twice := indexes[j.Idx]; twice {
			t.Fatalf("jobs %d and %d have index %d", other, j.ID, j.Idx)
		}
		indexes[j.Idx] = j.ID
		for input, s := range c.covers(t, j) {
			have[input] = append(have[input], s)
		}
	}
	for input, spans := range have {
		slices.SortFunc(spans, func(a, b stored.Span) int { return int(a.Low - b.Low) })
		for i := 1; i < len(spans); i++ {
			if spans[i].Low < spans[i-1].High {
				t.Fatalf("events of input %q are in two pieces: %v", input, spans)
			}
		}
	}
	for input, n := range c.want {
		got := int64(0)
		for _, s := range have[input] {
			got += s.High - s.Low
		}
		if all && got != n {
			t.Fatalf("%d of %d events of input %q are in finished pieces: %v", got, n, input, have[input])
		}
	}
}

// covers are the events of inputs that a job has.
func (c *coverage) covers(t *rapid.T, j coveringJob) map[string]stored.Span {
	switch len(j.Inputs) {
	case 0:
		return map[string]stored.Span{"": {Low: j.FirstEvent, High: j.FirstEvent + j.NEvents}}
	case 1:
		if j.NEvents > 0 {
			return map[string]stored.Span{j.Inputs[0]: {Low: j.FirstEvent, High: j.FirstEvent + j.NEvents}}
		}
	}
	whole, known := map[string]stored.Span{}, int64(0)
	for _, name := range j.Inputs {
		whole[name] = stored.Span{Low: 0, High: c.want[name]}
		if c.says[name] {
			known += c.want[name]
		}
	}
	if len(whole) != len(j.Inputs) || j.NEvents != 0 && (j.NEvents != known || j.FirstEvent != 0) {
		t.Fatalf("a job of whole inputs with %d events: %+v", known, j)
	}
	return whole
}
