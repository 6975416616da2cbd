package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
)

// whyWithin bounds how long Why reads the log again.
const whyWithin = 20 * time.Second

// Why says why share A was served before share B, or the other way round: a *job.FieldError when one of them is no share or one is above the
// other. The decisions are those that the log still has; where it could not be read to the end in time, the oldest of them.
func (r *Reads) Why(ctx context.Context, q explain.WhyRequest) (out explain.Why, err error) {
	if q, err = q.Check(); err != nil {
		return out, err
	}
	var wrong error
	if err = r.see(ctx, explain.Moment{}, func(m explain.Moment) { _, _, wrong = m.Sides(q) }); err != nil || wrong != nil {
		return out, errors.Join(wrong, err)
	}
	fared, err := r.fared(ctx, q)
	if err != nil {
		return out, fmt.Errorf("why: %w", err)
	}
	if err = r.see(ctx, explain.Moment{}, func(m explain.Moment) { out, wrong = m.Why(q, fared) }); err != nil {
		return out, err
	}
	return out, wrong
}

// fared is what the last decisions say of both shares.
func (r *Reads) fared(ctx context.Context, q explain.WhyRequest) (explain.Fared, error) {
	within, cancel := context.WithTimeout(ctx, whyWithin)
	defer cancel()
	last, n, now := make([]replay.Decided, 0, min(q.Last, 1024)), 0, time.Now()
	err := r.replay.Decisions(within, now.Add(-q.From), now, func(_ *replay.Turn, d replay.Decided, _ machine.Contest) bool {
		if len(last) < q.Last {
			last = append(last, d)
		} else {
			last[n%q.Last] = d
		}
		n++
		return true
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return explain.Fared{}, err
	}
	f := replay.Fare{A: q.A, B: q.B}
	for i := range last {
		f.Add(last[(n+i)%len(last)])
	}
	return f.Fared, nil
}
