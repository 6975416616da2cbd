package generator

import (
	"context"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// Tasks that are not over come before the others, each half from the newest on, whatever the size of a page.
func TestNewestTasksFirst(t *testing.T) {
	w := newWorld(t)
	var live, over []int64
	for i := range 9 {
		id := w.submit(t, managed(func(s *spec.Spec) { s.User = []string{"ann", "bob", "cy"}[i%3] })).ID
		if i%2 == 0 {
			w.exec(t, `UPDATE tasks SET state = 'done', ended_at = now() WHERE id = $1`, id)
			over = append([]int64{id}, over...)
			continue
		}
		live = append([]int64{id}, live...)
	}
	for _, c := range []struct {
		f    view.Filter
		want []int64
	}{
		{view.Filter{}, slices.Concat(live, over)},
		{view.Filter{State: []string{"done"}}, over},
		{view.Filter{Share: "Prod"}, slices.Concat(live, over)},
		{view.Filter{User: "ann"}, []int64{live[2], over[1], over[4]}},
		{view.Filter{User: "bob", State: []string{"ready", "done"}}, []int64{live[0], live[3], over[2]}},
		{view.Filter{User: "eve"}, nil},
	} {
		for limit := 1; limit <= 10; limit++ {
			f := c.f
			f.Newest, f.Limit = true, limit
			var got []int64
			for n := 0; n == 0 || f.After != 0; n++ {
				tasks, next, err := w.Tasks(context.Background(), f)
				if err != nil || len(tasks) > limit || n > 20 {
					t.Fatalf("%+v: %d tasks, %v", f, len(tasks), err)
				}
				for i := range tasks {
					got = append(got, tasks[i].ID)
				}
				f.After = next
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v by %d: %v, want %v", c.f, limit, got, c.want)
			}
		}
	}
	if _, _, err := w.Tasks(context.Background(), view.Filter{Newest: true, Share: "Prod/MX"}); err == nil {
		t.Error("a share that is misspelt has no tasks")
	}
}
