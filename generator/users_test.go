package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/spec"
)

// Whoever has a turn in the share has jobs for it: the many tasks of somebody else, and their priority, do not stand before them.
func TestEveryUserHasStock(t *testing.T) {
	w := newWorld(t)
	fair := strings.Replace(siteYAML, "{name: MC, weight: 50}", "{name: MC, weight: 50, within: fair_user}", 1)
	w.apply(t, fair)
	w.cfg.Mark = Mark{Floor: 90, Batch: 1000, Tasks: 3}.withDefaults()
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
	w.cfg.Mark.Floor = 200
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

// Marks of users are parts of the share's, and what is known of the stock is of each user.
func TestNeedsOfUsers(t *testing.T) {
	m := Mark{Floor: 100, Cap: 1000}.withDefaults()
	levels := []level{
		{ShareID: 1, UserName: "ann", ShapeID: 1, LotsReady: 60, PiecesLeft: 1000},
		{ShareID: 1, UserName: "bob", ShapeID: 1, LotsReady: 60, PiecesLeft: 1000},
		{ShareID: 1, UserName: "eve", ShapeID: 1},
	}
	stock := []dispatcher.Stock{{Share: 1, Shape: 1, User: "ann", Ready: 10}, {Share: 1, Shape: 1, User: "bob", Ready: 55}}
	want := []need{{Share: 1, Ratio: 0.2, Wants: map[rung]int64{{1, 0, "ann"}: 90, {1, 0, "bob"}: 45}}} // bob, who lacks none, with her
	if d := cmp.Diff(want, needs(levels, stock, nil, m)); d != "" {
		t.Error(d)
	}
}
