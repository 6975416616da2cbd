package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// manyTasks has tasks 30 … 1, of which the even ones are over, in the order of the newest.
type manyTasks struct{ fakeTasks }

func (m *manyTasks) Tasks(_ context.Context, f view.Filter) (tasks []view.Task, next int64, err error) {
	m.filter = f
	for _, over := range []bool{false, true} {
		for id := int64(30); id > 0; id-- {
			switch {
			case (id%2 == 0) != over, f.After > 0 && !over && id >= f.After, f.After < 0 && (!over || id >= -f.After):
				continue
			case len(tasks) == 2: // a page is short, as where few are wanted
				if next = tasks[1].ID; tasks[1].EndedAt != nil {
					next = -next
				}
				return tasks, next, nil
			}
			t := view.Task{ID: id}
			if over {
				t.EndedAt = new(time.Time)
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, 0, nil
}

// threeEach has three jobs of each task, in two shares and at two queues.
type threeEach struct{ fakeDispatcher }

func (d *threeEach) TaskJobs(_ context.Context, f dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error) {
	for i := int64(1); i <= 3; i++ {
		j := dispatcher.JobRow{ID: 10*f.Task + i, Task: f.Task, Share: []string{"A", "A/B", "AB"}[i-1], Queue: []string{"CERN", "BNL", "BNL"}[i-1], State: "finished"}
		if j.ID > f.After {
			jobs = append(jobs, j)
		}
	}
	return jobs, 0, nil
}

// Jobs of a user, a share or a queue come task by task, whatever the size of a page, and each once.
func TestJobsByUserShareAndQueue(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Tasks, c.Dispatcher = &manyTasks{}, &threeEach{} })
	for query, wants := range map[string][]int64{"user=ann": {1, 2, 3}, "share=A": {1, 2}, "share=A/B&user=ann": {2}, "queue=BNL&state=finished": {2, 3}} {
		var want []int64
		for _, first := range []int64{29, 30} {
			for id := first; id > 0; id -= 2 {
				for _, i := range wants {
					want = append(want, 10*id+i)
				}
			}
		}
		for _, limit := range []int{1, 7, 1000} {
			var got []int64
			for after := ""; ; {
				var p wire.Page[dispatcher.JobRow]
				w := b.call("GET", fmt.Sprintf("/v1/jobs?%s&limit=%d&after=%s", query, limit, url.QueryEscape(after)), "")
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 || len(p.Items) > limit {
					t.Fatalf("%s: %d %s", query, w.Code, w.Body)
				}
				for _, j := range p.Items {
					got = append(got, j.ID)
				}
				if after = p.Next; after == "" || len(got) > 2*len(want) {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s by %d: %v\nwant %v", query, limit, got, want)
			}
		}
	}
}

// Leased ones are found by their leases; what is misspelt is said.
func TestJobsByQueueAreLeasedOnes(t *testing.T) {
	b := newBench(t)
	for _, query := range []string{"queue=CERN", "user=ann&state=leased"} {
		if w := b.call("GET", "/v1/jobs?"+query, ""); b.dispatcher.filter.State != "leased" {
			t.Errorf("%s: %d, asked for %+v", query, w.Code, b.dispatcher.filter)
		}
	}
	for query, status := range map[string]int{"queue=CERM": 404, "share=Q&state=leased": 404, "task=3&user=ann": 422, "user=ann&after=x": 422} {
		b.problem(b.call("GET", "/v1/jobs?"+query, ""), status)
	}
}
