package day

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/generator/spec"
)

// eventsOfJob is what one job of the day works on.
const eventsOfJob = 100

// shapes are what the jobs of the day need: a queue of either kind, any, or twice the memory. Each fits half of the queues
// or more: a share can have what is its own, whichever of its jobs are left.
var shapes = []spec.Spec{
	{},
	{Queues: []string{"os=el8"}},
	{Queues: []string{"os=el9"}},
	{Requirements: spec.Requirements{MemoryMB: 2 * stage.BaseMB}},
}

// Of ten shares eight always have work. One runs out of it after about half of the day, one has some in bursts: small ones,
// since what comes of a sudden has its slots only when so many jobs of its siblings have ended, and they last for a day.
const (
	steady = iota
	runsOut
	bursts
)

// habit is when a share has work.
func habit(leaf int) int {
	switch leaf % 10 {
	case 8:
		return runsOut
	case 9:
		return bursts
	}
	return steady
}

// submitFirst gives the shares that always have work more than they can use in the day, also of what their siblings leave,
// and what they can use in half of it to those that run out.
func (r *run) submitFirst(ctx context.Context) error {
	r.Book.Say("submitting the tasks of the day")
	jobs := float64(r.Slots) + r.rate()*r.fast(r.Length).Seconds()
	if err := r.submit(ctx, "steady", 5*jobs, steady); err != nil {
		return err
	}
	return r.submit(ctx, "half", 0.5*jobs, runsOut)
}

// submitBurst gives the shares of bursts a twentieth of what they could hold.
func (r *run) submitBurst(ctx context.Context, part int) error {
	return r.submit(ctx, fmt.Sprint("part-", part), 0.05*float64(r.Slots), bursts)
}

// submit makes tasks of every shape for the leaves of a habit, each its part of so many jobs. Some tasks end
// with a job of fewer events.
func (r *run) submit(ctx context.Context, name string, jobs float64, of int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, l := range r.Leaves {
		if habit(i) != of {
			continue
		}
		for k, shape := range shapes {
			n := int64(l.Part*jobs)/int64(len(shapes)) + 1
			s := stage.Work(l.Path, shape, 0)
			s.Name, s.User = fmt.Sprintf("%s-%s-%d", name, l.Path, k), fmt.Sprint("user-", i)
			s.Count, s.Events = 0, &spec.Events{Total: n*eventsOfJob - int64(i%eventsOfJob), PerJob: eventsOfJob}
			s.MaxAttempts = 3
			group.Go(func() error {
				_, err := r.daemon.Client.Submit(ctx, s, s.Name)
				return err
			})
		}
	}
	return group.Wait()
}
