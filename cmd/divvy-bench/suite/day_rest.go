package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// How long a site that nobody ends jobs in may take until all slots are busy again, and how often it is looked at.
const (
	restWithin = 5 * time.Minute
	restLook   = 500 * time.Millisecond
)

// inSnapshot has what the stage reads be of one moment. One process reads it: with PostgreSQL's parallel workers the stage would take all
// of a small machine from the daemon that it watches.
func (s *stage) inSnapshot(ctx context.Context, read func() error) error {
	return pgx.BeginTxFunc(ctx, s.place.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL max_parallel_workers_per_gather = 0"); err != nil {
			return err
		}
		s.place.query = tx
		defer func() { s.place.query = nil }()
		return read()
	})
}

// stocked waits until the daemon has made all the jobs that it keeps ready. Pilots that come before would get those of the
// shares that were first.
func (r *dayRun) stocked(ctx context.Context) error {
	before := int64(-1)
	return r.until(ctx, func() (bool, error) {
		var left int64
		err := r.place.pool.QueryRow(ctx, query["pieces_left"]).Scan(&left)
		still := left == before
		before = left
		return still, err
	})
}

// full waits until every slot is busy.
func (r *dayRun) full(ctx context.Context) error {
	return r.until(ctx, func() (bool, error) { return r.site.running() == int64(r.Slots), r.site.trouble() })
}

// balance lets jobs end until every share is near its target. Those whose ready jobs ran out for a moment while the slots
// were filled have less; that is no part of the day.
func (r *dayRun) balance(ctx context.Context) error {
	r.site.move(true)
	defer r.site.move(false)
	return r.until(ctx, func() (near bool, err error) {
		err = r.inSnapshot(ctx, func() error {
			st, err := r.look(ctx, "default")
			if err == nil {
				near = worst(st.nodes(st.used())).off() < nearby
			}
			return err
		})
		return near, errors.Join(err, r.site.trouble())
	})
}

// nearby is how many jobs a share may be off in a site in balance while jobs end: some are on their way.
const nearby = 5

// until asks again and again.
func (r *dayRun) until(ctx context.Context, done func() (bool, error)) error {
	deadline := time.Now().Add(restWithin)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s the site is not as it should be; %d of %d slots are busy", restWithin, r.site.running(), r.Slots)
		}
		if err := wait(ctx, restLook); err != nil {
			return err
		}
	}
}

// rest notes which share is furthest off while nothing moves, and looks at the hard limits.
func (r *dayRun) rest(ctx context.Context) error {
	off, err := r.becomeStill(ctx)
	if err != nil {
		return err
	}
	r.worst = append(r.worst, off.off())
	r.say("at rest: share %s is furthest off, %.3f held, target %.3f", off.path, off.held, off.target)
	return nil
}

// becomeStill looks until all is as it should be at rest: leases that pilots died with end meanwhile, so that a slot may
// be free at any one look.
func (r *dayRun) becomeStill(ctx context.Context) (off offNode, err error) {
	deadline := time.Now().Add(restWithin)
	for {
		var failed *CheckError
		err = r.inSnapshot(ctx, func() (err error) {
			off, err = r.atRest(ctx, "default", 1)
			return err
		})
		if !errors.As(err, &failed) || time.Now().After(deadline) {
			return off, err
		}
		if err := wait(ctx, restLook); err != nil {
			return off, err
		}
		if err := r.site.trouble(); err != nil {
			return off, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// movingLooks is how often the shares are looked at between two rests, in the second half of a part: in the first those
// that have got work take what is theirs.
const movingLooks = 5

// watch lets a part of the day go by. Hard limits hold at every moment; how far shares are off while jobs end and start
// is noted beside them.
func (r *dayRun) watch(ctx context.Context, part time.Duration) error {
	until := time.Now().Add(part)
	if err := wait(ctx, part/2); err != nil {
		return err
	}
	for range movingLooks {
		var wrong []error
		err := r.inSnapshot(ctx, func() error {
			st, err := r.look(ctx, "default")
			if err != nil {
				return err
			}
			wrong = overLimits(st.version, st.held)
			r.moving = append(r.moving, worst(st.nodes(st.used())).off())
			return nil
		})
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			return &CheckError{wrong}
		}
		if err := errors.Join(r.site.trouble(), wait(ctx, part/(2*movingLooks+2))); err != nil {
			return err
		}
	}
	return wait(ctx, time.Until(until))
}
