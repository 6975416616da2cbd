package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
)

// Whoever has a turn in the share has jobs for it: the many tasks of somebody else, and their priority, do not stand before them.
func TestEveryUserHasStock(t *testing.T) {
	w := newWorld(t)
	fair := strings.Replace(siteYAML, "{name: MC, weight: 50}", "{name: MC, weight: 50, within: fair_user}", 1)
	w.apply(t, fair)
	w.mark(broker.Mark{Floor: 90, Batch: 1000, Tasks: 3})
	for range 5 {
		w.submit(t, managed(func(s *spec.Spec) { s.User, s.Count, s.Priority = "ann", 1000, 900 }))
	}
	w.submit(t, managed(func(s *spec.Spec) { s.User, s.Count = "bob", 40 }))
	w.submit(t, managed(func(s *spec.Spec) {
		s.User, s.Count, s.Inputs = "carol", 0, nil
		for i := range 300 {
			s.Inputs = append(s.Inputs, spec.Input{Name: strings.Repeat("x", i+1), Locations: []string{[]string{"CERN", "BNL"}[i%2]}})
		}
	}))
	made := func() map[string]int {
		got := map[string]int{}
		for _, user := range []string{"ann", "bob", "carol"} {
			got[user] = jobs[int](t, w, "SELECT count(*) FROM live_jobs j JOIN tasks t ON t.id = j.task_id WHERE t.user_name = $1", user)
		}
		return got
	}
	// The shape of ann's and bob's jobs is that of two, each of carol's is hers alone.
	steps(t, w.Generate)
	if d := cmp.Diff(map[string]int{"ann": 90, "bob": 40, "carol": 300}, made()); d != "" {
		t.Errorf("made (-want +got):\n%s", d)
	}
	// Alone she has the whole stock; where users are told apart no more, bob's next task comes behind that.
	w.mark(broker.Mark{Floor: 200, Batch: 1000, Tasks: 3})
	w.exec(t, "UPDATE tasks SET state = 'done', ended_at = now() WHERE user_name = 'bob'")
	steps(t, w.Generate)
	if n := made()["ann"]; n != 400 {
		t.Errorf("alone ann has %d jobs, want twice the mark", n)
	}
	w.apply(t, siteYAML)
	late := w.submit(t, managed(func(s *spec.Spec) { s.User, s.Count = "bob", 40 }))
	steps(t, w.Generate)
	if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs WHERE task_id = $1", late.ID); n != 0 {
		t.Errorf("%d jobs of low priority where those of high priority are enough", n)
	}
}
