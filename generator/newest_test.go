package generator

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
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
		f    Filter
		want []int64
	}{
		{Filter{}, slices.Concat(live, over)},
		{Filter{State: []string{"done"}}, over},
		{Filter{Share: "Prod"}, slices.Concat(live, over)},
		{Filter{User: "ann"}, []int64{live[2], over[1], over[4]}},
		{Filter{User: "bob", State: []string{"ready", "done"}}, []int64{live[0], live[3], over[2]}},
		{Filter{User: "eve"}, nil},
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
	if _, _, err := w.Tasks(context.Background(), Filter{Newest: true, Share: "Prod/MX"}); err == nil {
		t.Error("a share that is misspelt has no tasks")
	}
}

// A half of which not all was looked at is gone on with before the other one.
func TestNewestGoesOnWhereItLooked(t *testing.T) {
	at := func(id int64) *int64 { return &id }
	for _, c := range []struct {
		in   newestIDs
		want string
	}{
		{newestIDs{Live: []int64{9, 8}, Over: []int64{7}}, "[9 8] 8"},
		{newestIDs{Live: []int64{9, 8, 7}, Over: []int64{6}, LiveLooked: at(7)}, "[9 8] 8"},
		{newestIDs{Live: []int64{9}, Over: []int64{6}, LiveLooked: at(8)}, "[9] 8"},
		{newestIDs{Over: []int64{6}, LiveLooked: at(8)}, "[] 8"},
		{newestIDs{Live: []int64{9}, Over: []int64{6, 5}}, "[9 6] -6"},
		{newestIDs{Live: []int64{9}, OverLooked: at(3)}, "[9] -3"},
		{newestIDs{Live: []int64{9, 8}}, "[9 8] 0"},
	} {
		ids, next := c.in.page(2)
		if got := fmt.Sprint(ids, next); got != c.want {
			t.Errorf("%+v: %s, want %s", c.in, got, c.want)
		}
	}
}
