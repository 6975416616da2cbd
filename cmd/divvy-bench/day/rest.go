package day

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
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
