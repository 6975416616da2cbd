package generator

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
)

// drawGroups is a task of a group with two members and of a standalone role, with claims at all levels.
func drawGroups(r *rapid.T) spec.Spec {
	count := func(name string) int { return rapid.IntRange(1, 3).Draw(r, name) }
	return managed(func(s *spec.Spec) {
		s.Count, s.Replicas, s.MaxAttempts = 0, count("replicas"), rapid.IntRange(1, 2).Draw(r, "attempts")
		s.ClaimTemplates = []spec.ClaimTemplate{{Name: "t", Node: true}}
		s.Sharing = []spec.Sharing{{Template: "t", Scope: rapid.SampledFrom([]string{"all", "per_replica"}).Draw(r, "scope")}}
		s.Groups = []spec.Group{{Name: "g", Replicas: count("groups"), Members: []spec.Member{{Role: "a", Count: count("a")}, {Role: "b"}},
			Sharing: []spec.Sharing{{Template: "t", Scope: "per_replica", Only: []string{"a"}}}}}
		s.Roles = []spec.Member{{Role: "c", Count: count("c"), Sharing: []spec.Sharing{{Template: "t", Scope: "per_replica"}}}}
	})
}

func drawScaling(r *rapid.T) spec.Scaling {
	s := rapid.SampledFrom([]spec.Scaling{{}, {Group: "g"}, {Group: "g", Role: "a"}, {Group: "g", Role: "b"}, {Role: "c"}}).Draw(r, "what")
	s.Replicas = rapid.IntRange(0, 4).Draw(r, "n")
	return s
}

// Whenever tasks are scaled, and whatever else happens to them: counts equal a recount, no two jobs that are wanted have one
// name at a time, and in the end all jobs of what there is have finished.
func TestScaleMachine(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 5, Batch: 6})
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		w.reset(r)
		f := &fleet{db: w}
		var ids []int64
		for range rapid.IntRange(1, 2).Draw(r, "tasks") {
			ids = append(ids, w.submit(r, drawGroups(r)).ID)
		}
		say := func(do func(int64) error) func(*rapid.T) {
			return func(r *rapid.T) {
				if err := do(rapid.SampledFrom(ids).Draw(r, "task")); err != nil && !errors.Is(err, judge.ErrState) {
					r.Fatal(err)
				}
			}
		}
		verb := func(verb Verb) func(*rapid.T) {
			return say(func(id int64) error { _, err := w.Say(ctx, verb, id, nil); return err })
		}
		step := func(step func(context.Context) (int, error)) func(*rapid.T) {
			return func(r *rapid.T) {
				if _, err := step(ctx); err != nil {
					r.Fatal(err)
				}
			}
		}
		scale := func(r *rapid.T) {
			say(func(id int64) error { _, err := w.Scale(ctx, id, drawScaling(r)); return err })(r)
		}
		r.Repeat(map[string]func(*rapid.T){
			"scale": scale, "scale again": scale, "generate": step(w.Generate), "settle": step(w.Settle), "sweep": step(w.Sweep),
			"lease": func(r *rapid.T) { f.lease(r, rapid.IntRange(1, 12).Draw(r, "n")) },
			"end": func(r *rapid.T) {
				f.end(r, rapid.SampledFrom([]string{"finished", "failed", "failed"}).Draw(r, "outcome"), rapid.IntRange(1, 12).Draw(r, "n"))
			},
			"retry": verb(VerbRetry), "pause": verb(VerbPause), "resume": verb(VerbResume),
			"": func(r *rapid.T) { w.namesAreUnique(r) },
		})
		steps(r, w.Settle)
		w.recount(r)
		w.drain(r, f, ids)
		for _, id := range ids {
			for range 3 { // what had failed
				if _, err := w.Say(ctx, VerbRetry, id, nil); errors.Is(err, judge.ErrState) {
					break
				} else if err != nil {
					r.Fatal(err)
				}
				w.drain(r, f, ids)
			}
			w.allFinished(r, id)
		}
	})
}

// namesAreUnique says that each name is that of one wanted job at most, live or to come.
func (w *world) namesAreUnique(t tb) {
	t.Helper()
	if twice := jobs[string](t, w, `SELECT coalesce(string_agg(DISTINCT name, ' '), '') FROM (
			SELECT task_id, name, count(*) FROM (
				SELECT task_id, inputs[1] AS name FROM live_jobs WHERE NOT scaled_away
				UNION ALL SELECT i.task_id, u.name FROM inputs i JOIN tasks t ON t.id = i.task_id
					CROSS JOIN LATERAL unnest(i.names) WITH ORDINALITY AS u (name, nth) WHERE i.position + u.nth > t.n_split
			) j GROUP BY task_id, name HAVING count(*) > 1) x`); twice != "" {
		t.Fatalf("two jobs have the name %s", twice)
	}
	if n := jobs[int](t, w, `SELECT count(*) FROM (SELECT task_id, idx FROM (
			SELECT task_id, idx, id, retry_of FROM live_jobs UNION ALL SELECT task_id, idx, id, retry_of FROM over_jobs) j
			WHERE retry_of IS NULL GROUP BY task_id, idx HAVING count(*) > 1) x`); n != 0 {
		t.Fatalf("%d indexes are of two pieces", n)
	}
}

// allFinished says that a task is done with exactly the jobs that its layout has now.
func (w *world) allFinished(t tb, id int64) {
	t.Helper()
	task := w.task(t, id)
	if task.State != "done" {
		t.Fatalf("%+v", task)
	}
	l, err := spec.ScaledLayout(task.Spec, task.Scaled)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range resource.Expand(l).Jobs {
		if n := jobs[int](t, w, "SELECT count(*) FROM over_jobs WHERE task_id = $1 AND inputs[1] = $2 AND state = 'finished' AND NOT scaled_away", id, j.Name()); n == 0 {
			t.Fatal(fmt.Sprintf("%s has not finished", j.Name()))
		}
	}
}
