package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// otherVerbs are those that the table of the code has not.
var otherVerbs = []Verb{VerbPrioritise, VerbReassign, "scale", "clone", "inputs", "commit"}

// The table of doc.go and what the database holds afterwards are the same for every (state, verb).
func TestOtherVerbsOfEveryState(t *testing.T) {
	w := newWorld(t)
	table := documented(t, otherVerbs...)
	for _, state := range judge.States {
		for _, verb := range otherVerbs {
			want, ok := table[state][verb]
			if !ok {
				t.Fatalf("doc.go does not say what %s does to a task that is %s", verb, state)
			}
			id := w.inState(t, state, verb)
			err := w.sayOther(id, verb)
			after := w.task(t, id).State
			switch {
			case want == "-":
				var refused *judge.StateError
				if !errors.As(err, &refused) || refused.State != state || after != state {
					t.Errorf("%s, %s: %v, the task is %s", state, verb, err, after)
				}
			case err != nil || after != want && !(want == same && after == state):
				t.Errorf("%s, %s: %v, the task is %s, want %s", state, verb, err, after, want)
			}
		}
	}
}

// inState is a task in a state, of the kind that a verb is for.
func (w *world) inState(t *testing.T, state string, verb Verb) int64 {
	t.Helper()
	task := w.submit(t, managed(func(s *spec.Spec) {
		switch verb {
		case "scale":
			s.Count, s.Roles = 0, []spec.Member{{Role: "r", Count: 3}}
		case "inputs", "commit":
			streamed(s)
		}
	}))
	if task.State == "submitting" {
		if _, err := w.AddInputs(context.Background(), task.ID, 0, strings.NewReader(`"a"`)); err != nil {
			t.Fatal(err)
		}
	}
	w.exec(t, `UPDATE tasks SET state = $2, resume_state = CASE WHEN $2 = 'paused' THEN 'running' END,
		share_id = CASE WHEN $2 <> 'waiting' THEN share_id END,
		committed_at = CASE WHEN $2 <> 'submitting' THEN coalesce(committed_at, CASE WHEN $2 <> 'aborted' THEN now() END) END,
		ended_at = CASE WHEN $2 IN ('done', 'finished', 'failed', 'aborted') THEN now() END WHERE id = $1`, task.ID, state)
	return task.ID
}

func (w *world) sayOther(id int64, verb Verb) (err error) {
	ctx := context.Background()
	switch verb {
	case VerbPrioritise:
		_, err = w.Prioritise(ctx, id, 7)
	case VerbReassign:
		var r Reassigned
		r, err = w.Reassign(ctx, ReassignRequest{Share: "Test", Tasks: []int64{id}})
		if err == nil && !r.Tasks[0].Moved {
			err = &judge.StateError{Task: id, Verb: r.Tasks[0].Why, State: overState(r.Tasks[0].Why)}
		}
	case "scale":
		_, err = w.Scale(ctx, id, spec.Scaling{Role: "r", Replicas: 2})
	case "clone":
		_, err = w.Clone(ctx, CloneRequest{Task: id})
	case "inputs":
		_, err = w.AddInputs(ctx, id, 1, strings.NewReader(`"b"`))
	case "commit":
		_, err = w.Commit(ctx, id)
	}
	return err
}

// overState is the state that reassign names when it moves nothing.
func overState(why string) string {
	_, state, _ := strings.Cut(why, "it is over (")
	state, _, _ = strings.Cut(state, ")")
	return state
}

// watchMoves has the database refuse what doc.go does not say of moves, in every transaction.
func (w *world) watchMoves(t *testing.T) {
	t.Helper()
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var befores, afters []string
	for line := range strings.Lines(string(src)) {
		before, list, is := strings.Cut(strings.TrimPrefix(line, "//"), "→")
		before = strings.TrimSpace(before)
		if !is || !slices.Contains(judge.States, before) {
			continue
		}
		for _, after := range strings.Fields(list) {
			if !slices.Contains(judge.States, after) {
				t.Fatalf("doc.go has a move from %s to %s", before, after)
			}
			befores, afters = append(befores, before), append(afters, after)
		}
	}
	if len(befores) < 50 {
		t.Fatalf("doc.go has %d moves", len(befores))
	}
	w.exec(t, "CREATE TABLE moves_allowed (before text, after text)")
	w.exec(t, "INSERT INTO moves_allowed SELECT * FROM unnest($1::text[], $2::text[])", befores, afters)
	w.exec(t, `CREATE FUNCTION check_move() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF NOT EXISTS (SELECT FROM moves_allowed WHERE before = OLD.state AND after = NEW.state) THEN
				RAISE EXCEPTION 'task % went from % to %, which doc.go does not say', OLD.id, OLD.state, NEW.state;
			END IF;
			RETURN NEW;
		END $$`)
	w.exec(t, `CREATE TRIGGER check_move BEFORE UPDATE OF state ON tasks FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION check_move()`)
}

// lives are tasks that live through something, and what has happened to them.
type lives struct {
	*world
	r     *rand.Rand
	fleet *fleet
	ids   []int64
	told  []string
}

func (l *lives) fail(t *testing.T, err error) {
	t.Helper()
	t.Fatalf("%v, after:\n%s", err, strings.Join(l.told, "\n"))
}

// Whatever is said to tasks of all kinds, in whatever order and between whatever steps: verbs do what their table says, tasks
// move as doc.go says, counts are those of the jobs, and all come to an end.
func TestTasksMoveAsDocumented(t *testing.T) {
	w := newWorld(t)
	w.watchMoves(t)
	w.mark(broker.Mark{Floor: 10_000, Batch: 4})
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w.apply(t, siteYAML+"limits: [{user: bob, max_active_tasks: 1, max_ready_jobs: 3}]\n")
			l := &lives{world: w, r: rand.New(rand.NewPCG(seed, 11))}
			l.fleet = &fleet{db: w}
			l.begin(t)
			for range 80 {
				l.step(t)
			}
			l.end(t)
		})
	}
}

// begin submits tasks of all kinds.
func (l *lives) begin(t *testing.T) {
	t.Helper()
	submit := func(change func(*spec.Spec)) int64 {
		l.ids = append(l.ids, l.submit(t, managed(func(s *spec.Spec) {
			s.Count, s.MaxAttempts = int64(1+l.r.IntN(8)), 1+l.r.IntN(2)
			change(s)
		})).ID)
		return l.ids[len(l.ids)-1]
	}
	first := submit(func(s *spec.Spec) {})
	submit(func(s *spec.Spec) { s.Scout, s.Priority = 2, 1 })
	submit(func(s *spec.Spec) { s.User = "bob" })
	submit(func(s *spec.Spec) { s.User, s.Scout = "bob", 1 })
	submit(streamed)
	submit(func(s *spec.Spec) { s.Count, s.Roles = 0, []spec.Member{{Role: "r", Count: 3}} })
	submit(func(s *spec.Spec) { s.Count, s.Events = 0, &spec.Events{Total: 20, PerJob: 6} })
	submit(func(s *spec.Spec) {
		s.Needs = []spec.Need{{Task: first, When: []string{spec.WhenDone, spec.WhenFinished, spec.WhenAny}[l.r.IntN(3)]}}
	})
}

// step is something that happens.
func (l *lives) step(t *testing.T) {
	t.Helper()
	n := 1 + l.r.IntN(6)
	things := []struct {
		name string
		do   func() error
	}{
		{"generate", func() error { _, err := l.Generate(context.Background()); return err }},
		{"lease", func() error { l.fleet.lease(t, n); return nil }},
		{"finished", func() error { l.fleet.end(t, "finished", n); return nil }},
		{"failed", func() error { l.fleet.end(t, []string{"failed", splitSmaller}[l.r.IntN(2)], n); return nil }},
		{"kill jobs", func() error { l.fleet.kill(t, 1); return nil }},
		{"settle", func() error { l.settled(t, l.ids[0]); return nil }},
		{"sweep", l.once(l.Sweep)}, {"throttle", l.once(l.Throttle)}, {"chain", l.once(l.Chain)},
		{"say", func() error { return l.say(t) }}, {"say", func() error { return l.say(t) }}, {"say other", l.sayOther},
	}
	thing := things[l.r.IntN(len(things))]
	l.told = append(l.told, fmt.Sprintf("%s %d", thing.name, n))
	if err := thing.do(); err != nil {
		l.fail(t, err)
	}
}

func (l *lives) once(step func(context.Context) (int, error)) func() error {
	return func() error { _, err := step(context.Background()); return err }
}

// say says a verb to a task, and compares what comes of it with the table.
func (l *lives) say(t *testing.T) error {
	id, verb := l.ids[l.r.IntN(len(l.ids))], allVerbs[l.r.IntN(len(allVerbs))]
	if verb == VerbKill && l.r.IntN(4) > 0 {
		verb = VerbResume
	}
	before := l.task(t, id).State
	l.told[len(l.told)-1] = fmt.Sprintf("%s of task %d, which is %s", verb, id, before)
	c, err := l.say1(verb, id)
	var refused *judge.StateError
	switch want, allowed := next[verb][before]; {
	case errors.As(err, &refused):
		if allowed && verb != VerbRetry { // nothing may be left to try again
			return fmt.Errorf("refused: %w", err)
		}
	case err != nil:
		return err
	case !allowed:
		return fmt.Errorf("it was not refused: %+v", c)
	case want == same && c.Before != c.After && verb != VerbAvalanche:
		return fmt.Errorf("it changed the state: %+v", c)
	}
	return nil
}

// sayOther says one of the other verbs to a task, which may refuse it.
func (l *lives) sayOther() error {
	id, verb := l.ids[l.r.IntN(len(l.ids))], otherVerbs[l.r.IntN(len(otherVerbs))]
	if verb == "clone" {
		return nil
	}
	l.told[len(l.told)-1] = fmt.Sprintf("%s of task %d", verb, id)
	err := l.world.sayOther(id, verb)
	if errors.Is(err, judge.ErrState) || errors.Is(err, ErrOffset) || errors.Is(err, spec.ErrInvalid) {
		return nil
	}
	return err
}

// end lets all go on that can, and sees that they come to an end.
func (l *lives) end(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	l.apply(t, siteYAML)
	for range 100 {
		left := 0
		for _, id := range l.ids {
			switch state := l.task(t, id).State; state {
			case "submitting":
				_, _ = l.AddInputs(ctx, id, 0, strings.NewReader(`"a"`)) // it may have some
				if _, err := l.Commit(ctx, id); err != nil {
					l.fail(t, err)
				}
			case "done", "finished", "failed", "aborted":
				continue
			case "paused", "exhausted":
				verb := map[string]Verb{"paused": VerbResume, "exhausted": VerbAvalanche}[state]
				if _, err := l.say1(verb, id); err != nil {
					l.fail(t, err)
				}
			}
			left++
		}
		for _, step := range []func() error{l.once(l.Throttle), l.once(l.Sweep), l.once(l.Chain), l.once(l.Generate), l.once(l.Settle)} {
			if err := step(); err != nil {
				l.fail(t, err)
			}
		}
		l.fleet.lease(t, 1000)
		l.fleet.end(t, "finished", 1000)
		l.settled(t, l.ids[0])
		if left == 0 {
			return
		}
	}
	l.fail(t, fmt.Errorf("tasks never end: %s", one[string](t, l.db, "SELECT string_agg(id || ' ' || state || ' ' || reason, '; ') FROM tasks WHERE ended_at IS NULL")))
}

// Jobs are counted under the names of their six states and as a total, the same ones everywhere.
func TestJobCountsHaveTheNamesOfStates(t *testing.T) {
	b, err := json.Marshal(view.JobCounts{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"total":0,"waiting":0,"ready":0,"leased":0,"finished":0,"failed":0,"cancelled":0}`; string(b) != want {
		t.Errorf("a task counts %s, not %s", b, want)
	}
}
