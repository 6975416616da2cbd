package generator

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
)

// limitDraw is a limit with its figures; 0: none.
type limitDraw struct{ tasks, ready, units int }

func drawLimit(r *rapid.T, name string) limitDraw {
	figure := func(what string, least int) int {
		if n := rapid.IntRange(least-1, 8).Draw(r, name+" "+what); n >= least {
			return n
		}
		return 0
	}
	l := limitDraw{figure("tasks", 1), figure("ready", 1), figure("units", 2)} // a job takes up to two
	if l == (limitDraw{}) {
		l.tasks = 1
	}
	return l
}

// yaml is the limit of those who are named.
func (l limitDraw) yaml(whom string) string {
	text := "{" + whom
	for _, f := range []struct {
		key string
		n   int
	}{{"max_active_tasks", l.tasks}, {"max_ready_jobs", l.ready}, {"max_held_units", l.units}} {
		if f.n > 0 {
			text += fmt.Sprintf(", %s: %d", f.key, f.n)
		}
	}
	return text + "}"
}

// check counts what a user has, or with "" everybody.
func (l limitDraw) check(r *rapid.T, w *world, user string) {
	var active, ready, units int
	w.fold(r)
	err := w.db.QueryRow(context.Background(), `
		SELECT (SELECT count(*) FROM tasks WHERE state IN ('ready', 'scouting', 'running') AND user_name LIKE $1),
			count(*) FILTER (WHERE NOT j.leased), coalesce(sum(s.cores), 0)
		FROM live_jobs j JOIN tasks t ON t.id = j.task_id AND t.user_name LIKE $1
		JOIN shapes s ON s.id = j.shape_id`, user+"%").Scan(&active, &ready, &units)
	if err != nil {
		r.Fatal(err)
	}
	if l.tasks > 0 && active > l.tasks || l.ready > 0 && ready > l.ready || l.units > 0 && units > l.units {
		r.Fatalf("%q: %d active tasks, %d ready jobs, %d units; allowed are %+v", user, active, ready, units, l)
	}
}

// checkMaxRunning counts the jobs of each task that may have only so many.
func checkMaxRunning(r *rapid.T, w *world) {
	over := one[string](r, w.db, `SELECT coalesce(string_agg(format('task %s has %s jobs of %s', t.id, n, t.max_running), ', '), '')
		FROM tasks t, LATERAL (SELECT count(*) AS n FROM live_jobs j WHERE j.task_id = t.id) j WHERE n > t.max_running`)
	if over != "" {
		r.Fatal(over)
	}
}

// Whatever is said to tasks, and whenever jobs are made, started and ended: no limit is exceeded at any moment, by one task or
// one job, and everything can come to its end.
func TestLimitsMachine(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 50, Batch: 5})
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		w.reset(r)
		each, share := drawLimit(r, "user"), drawLimit(r, "share")
		w.limit(r, "["+each.yaml(`user: "*"`)+", "+share.yaml("share: Prod")+"]")
		f := &fleet{db: w}
		submit := func() {
			w.submit(r, managed(func(s *spec.Spec) {
				s.User, s.MaxAttempts = rapid.SampledFrom([]string{"alice", "bob"}).Draw(r, "user"), 1
				s.Count, s.Priority = int64(rapid.IntRange(1, 6).Draw(r, "count")), rapid.IntRange(0, 2).Draw(r, "priority")
				s.Requirements.Cores = rapid.IntRange(1, 2).Draw(r, "cores")
				s.MaxRunning = rapid.IntRange(0, 3).Draw(r, "max_running")
			}))
		}
		say := func(verb Verb) {
			user := rapid.SampledFrom([]string{"alice", "bob"}).Draw(r, "whose")
			if _, err := w.Act(ctx, ActRequest{Verb: verb, Selection: Selection{User: user}}); err != nil {
				r.Fatal(err)
			}
		}
		step := func(step func(context.Context) (int, error)) {
			if _, err := step(ctx); err != nil {
				r.Fatal(err)
			}
		}
		actions := []func(){
			submit, submit, func() { step(w.Throttle) }, func() { step(w.Throttle) }, func() { step(w.Generate) }, func() { step(w.Generate) },
			func() { step(w.Settle) }, func() { step(w.Sweep) }, func() { f.lease(r, rapid.IntRange(1, 6).Draw(r, "leased")) },
			func() { f.end(r, "finished", rapid.IntRange(1, 6).Draw(r, "ended")) }, func() { f.end(r, "failed", 2) },
			func() { say(VerbPause) }, func() { say(VerbResume) }, func() { say(VerbRetry) }, func() { say(VerbFinish) }, func() { say(VerbKill) },
		}
		for range rapid.IntRange(8, 24).Draw(r, "steps") {
			actions[rapid.IntRange(0, len(actions)-1).Draw(r, "action")]()
			each.check(r, w, "alice")
			each.check(r, w, "bob")
			share.check(r, w, "")
			checkMaxRunning(r, w)
		}
		if rapid.IntRange(0, 3).Draw(r, "to the end") > 0 { // which takes long
			return
		}
		if _, err := w.Act(ctx, ActRequest{Verb: VerbResume, Selection: Selection{State: []string{"paused"}}}); err != nil {
			r.Fatal(err)
		}
		w.letThrough(r, f)
		w.recount(r)
	})
}

// letThrough has all tasks come to their ends.
func (w *world) letThrough(t tb, f *fleet) {
	t.Helper()
	for range 200 {
		for _, step := range []func(context.Context) (int, error){w.Settle, w.Throttle, w.Generate, w.Sweep} {
			if _, err := step(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		f.lease(t, 50)
		f.end(t, "finished", 50)
		if one[int](t, w.db, "SELECT count(*) FROM tasks WHERE ended_at IS NULL") == 0 {
			return
		}
	}
	t.Fatalf("%s", one[string](t, w.db, "SELECT string_agg(format('task %s is %s: %s', id, state, reason), '; ') FROM tasks WHERE ended_at IS NULL"))
}
