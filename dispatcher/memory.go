package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// memoryKey is a share in a pool.
type memoryKey struct {
	pool  string
	share shares.ShareID
}

// memory is what a share has missed up to a moment, in thousandths of a unit times seconds. The lag is counted by
// targets as they are, for showing; what is remembered fades with the share's half_life and shifts its target
// (shares.Pool.Remember). Both outlive a change of the site and, through share_memory, the daemon.
type memory struct {
	lag, remembered float64
	at              time.Time
}

// Rests between two looks of Remember: it solves every tree, and that is to take no more than a fiftieth of the time.
const (
	memoryEvery = time.Second
	memoryEase  = 50
	memoryKept  = 10 * time.Second // from one writing to the next: what a daemon that is killed forgets at the most
)

// Remember lets the time since the last time count for what each share missed or had too much, by what it holds and
// should hold now, and every ten seconds writes that down, or, where an older daemon decides, takes over what that one
// has written. It returns how many rows were written or read. Do it every second.
func (d *Dispatcher) Remember(ctx context.Context) (n int, err error) {
	now := d.clock()
	d.mu.Lock()
	if now.Sub(d.state.remembered) >= d.memoryPause {
		began := time.Now()
		d.state.remember(now)
		d.memoryPause = max(memoryEvery, memoryEase*time.Since(began))
	}
	keep := now.Sub(d.memoryWritten) >= memoryKept
	var all map[memoryKey]memory
	if keep {
		d.memoryWritten, all = now, d.state.memories()
	}
	d.mu.Unlock()
	switch {
	case !keep:
		return 0, nil
	case len(d.Seniors()) > 0:
		return d.recallMemory(ctx)
	}
	return d.keepMemory(ctx, all)
}

// clock is this host's, or that of Config.
func (d *Dispatcher) clock() time.Time {
	if d.cfg.Now != nil {
		return d.cfg.Now()
	}
	return time.Now()
}

// remember counts the time up to now.
func (s *state) remember(now time.Time) {
	dt := now.Sub(s.remembered)
	s.remembered = now
	if dt <= 0 {
		return
	}
	s.diary.tape.remembers(now)
	s.settle()
	for _, p := range s.pools {
		r := s.roundNow(p)
		targets := p.book.Targets(r)
		for i := range targets {
			p.lag[i] += (targets[i] - float64(p.book.Held(i))) * dt.Seconds()
		}
		p.book.Remember(r, dt)
	}
	s.diary.noteLags(s)
}

// memories is what all shares have missed.
func (s *state) memories() map[memoryKey]memory {
	all := map[memoryKey]memory{}
	for name, p := range s.pools {
		for i, n := range p.book.Tree().Nodes {
			if i > 0 {
				all[memoryKey{name, n.ID}] = memory{p.lag[i], p.book.Lag(i), s.remembered}
			}
		}
	}
	return all
}

// recall sets what shares have missed; what they remember has faded since.
func (s *state) recall(all map[memoryKey]memory) {
	for name, p := range s.pools {
		for i, n := range p.book.Tree().Nodes {
			m, ok := all[memoryKey{name, n.ID}]
			if !ok {
				continue
			}
			p.lag[i] = m.lag
			if half := time.Duration(n.Plan.HalfLife); half > 0 {
				p.book.SetLag(i, shares.Fade(m.remembered, 0, half, max(0, s.remembered.Sub(m.at))))
			}
		}
	}
}

type memoryRow struct {
	Pool       string
	ShareID    shares.ShareID
	Lag        float64 // units times seconds, as the following
	Remembered float64
	At         time.Time
}

// readMemory reads what was written down.
func readMemory(ctx context.Context, db querier) (map[memoryKey]memory, error) {
	rows, err := collect[memoryRow](ctx, db, "memory", nil)
	if err != nil {
		return nil, err
	}
	all := make(map[memoryKey]memory, len(rows))
	for _, r := range rows {
		all[memoryKey{r.Pool, r.ShareID}] = memory{r.Lag * 1000, r.Remembered * 1000, r.At}
	}
	return all, nil
}

func (d *Dispatcher) recallMemory(ctx context.Context) (n int, err error) {
	all, err := readMemory(ctx, d.cfg.Pool)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.recall(all)
	d.state.diary.noteLags(d.state)
	return len(all), nil
}

// keepLast writes down what shares have missed up to this moment.
func (d *Dispatcher) keepLast(ctx context.Context) error {
	now := d.clock()
	d.mu.Lock()
	d.state.remember(now)
	all := d.state.memories()
	d.mu.Unlock()
	_, err := d.keepMemory(ctx, all)
	return err
}

// keepMemory writes the rows that have changed, in place.
func (d *Dispatcher) keepMemory(ctx context.Context, all map[memoryKey]memory) (n int, err error) {
	var pools []string
	var ids []int32
	var lags, remembered []float64
	var at time.Time
	keys := make([]memoryKey, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b memoryKey) int { // two writers lock in one order
		return cmp.Or(cmp.Compare(a.share, b.share), cmp.Compare(a.pool, b.pool))
	})
	for _, key := range keys {
		m := all[key]
		pools, ids, at = append(pools, key.pool), append(ids, int32(key.share)), m.at
		lags, remembered = append(lags, m.lag/1000), append(remembered, m.remembered/1000)
	}
	tag, err := d.cfg.Pool.Exec(ctx, query["remember_shares"], pgx.StrictNamedArgs{
		"pools": pools, "shares": ids, "lags": lags, "remembered": remembered, "at": at})
	if err != nil {
		return 0, fmt.Errorf("remember: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
