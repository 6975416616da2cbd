package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// Bounds of a page of jobs chosen by user, share or queue: reads of a task's jobs, and tasks read at once.
const (
	mostTaskReads = 20
	tasksAtOnce   = 50
)

// chosen builds a page of jobs of a user, a share or a queue, task by task, the newest task that is not over first.
// It needs no index but those of tasks, and the cost of a page has a bound.
type chosen struct {
	s    *jobCalls
	in   *jobsInput
	page wire.Page[dispatcher.JobRow]
	left int // reads of a task's jobs
}

// leasedJobs lists the leased jobs. Leases keep share, queue and task as they were at the grant.
func (s *jobCalls) leasedJobs(ctx context.Context, in *jobsInput) (wire.Page[dispatcher.JobRow], error) {
	after, err := in.afterID()
	if err != nil {
		return wire.Page[dispatcher.JobRow]{}, err
	}
	jobs, next, err := s.dispatcher.LeasedJobs(ctx, dispatcher.JobFilter{User: in.User, Share: in.Share, Queue: in.Queue, After: after, Limit: in.Limit})
	p := wire.Page[dispatcher.JobRow]{Items: edge.List(jobs)}
	if next > 0 {
		p.Next = strconv.FormatInt(next, 10)
	}
	return p, err
}

func (s *jobCalls) chosenJobs(ctx context.Context, in *jobsInput) (wire.Page[dispatcher.JobRow], error) {
	c := chosen{s: s, in: in, page: wire.Page[dispatcher.JobRow]{Items: []dispatcher.JobRow{}}, left: mostTaskReads}
	from, after, err := c.cursor()
	if err != nil {
		return c.page, err
	}
	f := view.Filter{User: in.User, Share: in.Share, Newest: true, After: from, Limit: tasksAtOnce}
	for {
		tasks, next, err := s.tasks.Tasks(ctx, f)
		if err != nil {
			return c.page, err
		}
		for i := range tasks {
			if i > 0 || tasks[i].ID != within(from) {
				after = 0
			}
			if full, err := c.task(ctx, &tasks[i], after); full || err != nil {
				return c.page, err
			}
		}
		if next == 0 {
			return c.page, nil
		}
		f.After, from, after = next, next, 0
		if c.left--; c.left <= 0 { // looking through a task has a cost, too
			c.page.Next = fmt.Sprintf("%d.0", next)
			return c.page, nil
		}
	}
}

// within returns the task in which a page goes on that begins at a cursor.
func within(from int64) int64 {
	if from < 0 {
		from = -from
	}
	return from - 1
}

// cursor reads after: the task in the list of the newest tasks below which the page begins, and the last job of it
// that was shown.
func (c *chosen) cursor() (from, job int64, err error) {
	if c.in.After == "" {
		return 0, 0, nil
	}
	task, rest, _ := strings.Cut(c.in.After, ".")
	if from, err = (Cursor{After: task}).cursor(true); err == nil {
		job, err = Cursor{After: rest}.afterID()
	}
	return from, job, err
}

// task adds the jobs of one task. It returns full if the page is complete and has a next.
func (c *chosen) task(ctx context.Context, t *view.Task, after int64) (full bool, err error) {
	if t.EndedAt != nil && (c.in.State == "waiting" || c.in.State == "ready") {
		return false, nil
	}
	here := t.ID + 1
	if t.EndedAt != nil {
		here = -here
	}
	for {
		jobs, next, err := c.s.dispatcher.TaskJobs(ctx, dispatcher.JobFilter{Task: t.ID, State: c.in.State, After: after, Limit: 1000})
		if err != nil {
			return false, err
		}
		for _, j := range jobs {
			if !c.wants(&j) {
				continue
			}
			if len(c.page.Items) == c.in.Limit {
				c.page.Next = fmt.Sprintf("%d.%d", here, j.ID-1)
				return true, nil
			}
			c.page.Items = append(c.page.Items, j)
		}
		c.left--
		switch {
		case next == 0:
			return false, nil
		case c.left <= 0:
			c.page.Next = fmt.Sprintf("%d.%d", here, next)
			return true, nil
		}
		after = next
	}
}

// wants reports whether a job matches the request.
func (c *chosen) wants(j *dispatcher.JobRow) bool {
	return (c.in.Share == "" || j.Share == c.in.Share || strings.HasPrefix(j.Share, c.in.Share+"/")) && (c.in.Queue == "" || j.Queue == c.in.Queue)
}
