package day

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/api/wire"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
)

// How long a site that nobody ends jobs in may take until all slots are busy again, and how often it is looked at.
const (
	restWithin = 5 * time.Minute
	restLook   = 500 * time.Millisecond
)

// until asks again and again.
func (r *run) until(ctx context.Context, done func() (bool, error)) error {
	return stage.Until(ctx, restLook, restWithin, fmt.Sprintf("the site is not as it should be; %d of %d slots are busy", r.pilots.counts.running(), r.Slots), done)
}

// look reads what the shares hold and want, all of one moment.
func (r *run) look(ctx context.Context) (s recount.Stand, err error) {
	version, err := r.Place.Version(ctx)
	if err != nil {
		return s, err
	}
	err = r.Place.InSnapshot(ctx, func(db pg.Querier) error { s, err = recount.Look(ctx, db, version, "default"); return err })
	return s, err
}

// stocked waits until the daemon has made all the jobs that it keeps ready. Pilots that come before would get those of the
// shares that were first.
func (r *run) stocked(ctx context.Context) error {
	before := int64(-1)
	return r.until(ctx, func() (bool, error) {
		left, err := r.Place.PiecesLeft(ctx)
		still := left == before
		before = left
		return still, err
	})
}

// full waits until every slot is busy.
func (r *run) full(ctx context.Context) error {
	return r.until(ctx, func() (bool, error) { return r.pilots.counts.running() == int64(r.Slots), r.pilots.attempts.trouble() })
}

// nearby is how many jobs a share may be off in a site in balance while jobs end: some are on their way.
const nearby = 5

// balance lets jobs end until every share is near its target. Those whose ready jobs ran out for a moment while the slots
// were filled have less; that is no part of the day.
func (r *run) balance(ctx context.Context) error {
	r.pilots.move(true)
	defer r.pilots.move(false)
	return r.until(ctx, func() (bool, error) {
		s, err := r.look(ctx)
		if err = errors.Join(err, r.pilots.attempts.trouble()); err != nil {
			return false, err
		}
		return recount.Worst(s.Nodes(s.Used())).Off() < nearby, nil
	})
}

// rest notes which share is furthest off while nothing moves. It looks until all is as it should be: leases that pilots died with end
// meanwhile, so that a slot may be free at any one look.
func (r *run) rest(ctx context.Context) error {
	var off recount.Node
	var wrong error
	err := r.until(ctx, func() (bool, error) {
		s, err := r.look(ctx)
		if err = errors.Join(err, r.pilots.attempts.trouble()); err != nil {
			return false, err
		}
		off, wrong = s.AtRest(1)
		return wrong == nil, nil
	})
	if err != nil {
		return errors.Join(err, wrong)
	}
	r.worst = append(r.worst, off.Off())
	r.Book.Say("at rest: share %s is furthest off, %.3f held, target %.3f", off.Path, off.Held, off.Target)
	return nil
}

// movingLooks is how often the shares are looked at between two rests, in the second half of a part: in the first those
// that have got work take what is theirs.
const movingLooks = 5

// watch lets a part of the day go by. Hard limits hold at every moment; how far shares are off while jobs end and start
// is noted beside them.
func (r *run) watch(ctx context.Context, part time.Duration) error {
	until := time.Now().Add(part)
	if err := stage.Pause(ctx, part/2); err != nil {
		return err
	}
	for range movingLooks {
		s, err := r.look(ctx)
		if err != nil {
			return err
		}
		r.moving = append(r.moving, recount.Worst(s.Nodes(s.Used())).Off())
		if err := errors.Join(recount.Failed(recount.OverLimits(s.Site, s.Held)...), r.pilots.attempts.trouble(), stage.Pause(ctx, part/(2*movingLooks+2))); err != nil {
			return err
		}
	}
	return stage.Pause(ctx, time.Until(until))
}

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
				_, err := r.daemon.Client.Tasks().Submit(ctx, wire.As[wire.TaskSpec](s), s.Name)
				return err
			})
		}
	}
	return group.Wait()
}
