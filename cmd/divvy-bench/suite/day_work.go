package suite

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/generator/spec"
)

// dayEvents is what one job of the day works on.
const dayEvents = 100

// dayShapes are what the jobs of the day need: a queue of either kind, any, or twice the memory. Each fits half of the queues
// or more: a share can have what is its own, whichever of its jobs are left.
var dayShapes = []spec.Spec{
	{},
	{Queues: []string{"os=el8"}},
	{Queues: []string{"os=el9"}},
	{Requirements: spec.Requirements{MemoryMB: 2 * baseMB}},
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
func (r *dayRun) submitFirst(ctx context.Context) error {
	r.say("submitting the tasks of the day")
	jobs := float64(r.Slots) + r.rate()*r.fast(r.Length).Seconds()
	err := r.submitWork(ctx, "steady", 5*jobs, func(i int) bool { return habit(i) == steady })
	if err != nil {
		return err
	}
	return r.submitWork(ctx, "half", 0.5*jobs, func(i int) bool { return habit(i) == runsOut })
}

// submitBurst gives the shares of bursts a twentieth of what they could hold.
func (r *dayRun) submitBurst(ctx context.Context, part int) error {
	return r.submitWork(ctx, fmt.Sprint("part-", part), 0.05*float64(r.Slots), func(i int) bool { return habit(i) == bursts })
}

// submitWork makes tasks of every shape for the leaves that are meant, each its part of so many jobs. Some tasks end
// with a job of fewer events.
func (r *dayRun) submitWork(ctx context.Context, name string, jobs float64, meant func(leaf int) bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, l := range r.leaves {
		if !meant(i) {
			continue
		}
		for shape, of := range dayShapes {
			n := int64(l.part*jobs)/int64(len(dayShapes)) + 1
			s := work(l.path, of, 0)
			s.Name, s.User = fmt.Sprintf("%s-%s-%d", name, l.path, shape), fmt.Sprint("user-", i)
			s.Count, s.Events = 0, &spec.Events{Total: n*dayEvents - int64(i%dayEvents), PerJob: dayEvents}
			s.MaxAttempts = 3
			group.Go(func() error {
				_, err := r.client.Submit(ctx, s, s.Name)
				return err
			})
		}
	}
	return group.Wait()
}
