package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/fold"
)

// Behind is how far the tables may be behind the log before pulls wait for them: what is not folded is kept in memory, and read by a start.
type Behind struct {
	Time    time.Duration // 0: a minute
	Batches int64         // 0: twenty thousand
}

func (b Behind) orDefault() Behind {
	return Behind{cmp.Or(b.Time, time.Minute), cmp.Or(b.Batches, 20_000)}
}

// brake has pulls wait while the tables are too far behind. Renewals and ends go on: they make work less.
type brake struct {
	bound Behind

	mu sync.Mutex
	reach
	open chan struct{} // closed when pulls go on; nil: they do
}

// reach is how far the tables are, as far as this daemon knows.
type reach struct {
	at   *fold.Position // the newest batch that is folded; nil: it does not know
	came time.Time      // when it learned of at
	lag  *fold.Lag      // as it was measured last; nil: not yet
}

// has says whether a batch is folded.
func (r reach) has(seq int64) bool { return r.at != nil && r.at.Seq >= seq }

// measure takes what was measured. Pulls that wait go on when half of the bound is reached.
func (b *brake) measure(lag fold.Lag) (waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lag = &lag
	switch {
	case b.open == nil && (lag.Time > b.bound.Time || lag.Batches > b.bound.Batches):
		b.open = make(chan struct{})
	case b.open != nil && lag.Time <= b.bound.Time/2 && lag.Batches <= b.bound.Batches/2:
		close(b.open)
		b.open = nil
	}
	return b.open != nil
}

// reached notes how far the tables are, and says so where they have news.
func (b background) reached(p fold.Position) {
	if before, news := b.brake.reached(p), b.eye.news.Load(); before < news && before < p.Seq {
		b.cfg.News()
	}
}

// reached notes how far the tables are, and returns how far they were.
func (b *brake) reached(p fold.Position) (before int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at != nil {
		before = b.at.Seq
	}
	if b.at == nil || p.Seq > before {
		b.came = time.Now()
	}
	if b.at == nil || p.Seq >= before {
		b.at = &p
	}
	return before
}

// limit is how late the tables may be.
func (b *brake) limit() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bound.Time
}

// now is how far the tables are.
func (b *brake) now() reach {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reach
}

// pass waits until pulls go on, as long as a pull waits. ErrUnavailable: whether there is a job is not known.
func (b *brake) pass(ctx context.Context, wait time.Duration) error {
	b.mu.Lock()
	open, lag := b.open, b.lag
	b.mu.Unlock()
	if open == nil {
		return nil
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return fmt.Errorf("%w: the tables are %d batches and %s behind the log", ErrUnavailable, lag.Batches, lag.Time.Round(time.Second))
	}
}

// measured is how far the tables are behind what the machine has. A leader knows how far it has folded; others ask.
func (b background) measured(ctx context.Context) (lag fold.Lag, err error) {
	tip, err := b.eye.tip(ctx)
	if err != nil {
		return lag, err
	}
	at := b.brake.now().at
	if at == nil || at.Seq < tip.Seq && !b.eye.leads() {
		p, err := fold.New(b.cfg.Pool, b.log, nil).Position(ctx)
		if err != nil {
			return lag, err
		}
		b.reached(p)
		at = &p
	}
	if at.Seq >= tip.Seq {
		return lag, nil
	}
	lag.Batches = tip.Seq - at.Seq
	if at.Seq > 0 {
		lag.Time = tip.At.Sub(at.At)
	} else {
		lag.Time = time.Since(b.began)
	}
	if lag.Time > b.brake.limit() { // or there was nothing to fold for long, as no daemon was there
		next, err := b.log.Read(ctx, at.Seq, 1)
		if err != nil || len(next) == 0 {
			return lag, err
		}
		lag.Time = tip.At.Sub(next[0].At)
	}
	return lag, nil
}

// lag measures how far the tables are behind.
func (b background) lag(ctx context.Context) (n int, err error) {
	lag, err := b.measured(ctx)
	if err != nil {
		return 0, err
	}
	if b.brake.measure(lag) {
		b.cfg.Log.Warn("pulls wait for the tables, which are behind the log", "batches", lag.Batches, "time", lag.Time)
		return 1, nil
	}
	return 0, nil
}
