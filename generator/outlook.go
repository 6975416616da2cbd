package generator

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// outlook is what the last reading of the levels said: the shares that lack jobs, neediest first. A reading takes a
// row of every live task. While that is soon done each Generate reads anew; where it takes longer, the workers of a
// generator go by one reading until all that it found is made, or it is too old.
type outlook struct {
	heard atomic.Bool   // of changes since it was read
	soon  time.Duration // what a reading of few tasks takes at most that is done anew each time

	mu      sync.Mutex
	needs   []need
	left    map[stockKey]int // that had pieces left: how many users share the mark, see Mark.part
	soonest time.Time        // another reading is not worth its cost before,
	until   time.Time        // and due then, whatever one knows

	made map[stockKey]madeLately // jobs that the stock may not have yet
}

// madeLately is how many jobs were made and when the last ones were.
type madeLately struct {
	n  int64
	at time.Time
}

// lately is how long the stock may take to have what was made.
const lately = time.Second

// noteMade remembers what a batch took off the wants of a need. The outlook is locked.
func (o *outlook) noteMade(n need, wants map[rung]int64, now time.Time) {
	if o.made == nil {
		o.made = map[stockKey]madeLately{}
	}
	for r, before := range n.Wants {
		key := stockKey{n.Share, r.Shape, r.User}
		m := o.made[key]
		if now.Sub(m.at) > lately {
			m.n = 0
		}
		o.made[key] = madeLately{m.n + before - wants[r], now}
	}
}

// withMade is the stock with the jobs that it may not have yet. The outlook is locked.
func (o *outlook) withMade(stock []dispatcher.Stock, now time.Time) []dispatcher.Stock {
	maps.DeleteFunc(o.made, func(_ stockKey, m madeLately) bool { return now.Sub(m.at) > lately })
	if len(o.made) == 0 || len(stock) == 0 {
		return stock
	}
	stock = slices.Clone(stock)
	left := maps.Clone(o.made)
	for i := range stock {
		key := stockKey{stock[i].Share, stock[i].Shape, stock[i].User}
		stock[i].Ready += left[key].n
		delete(left, key)
	}
	for key, m := range left {
		stock = append(stock, dispatcher.Stock{Share: key.share, Shape: key.shape, User: key.user, Ready: m.n})
	}
	return stock
}

// stockKey names what stock is kept of.
type stockKey struct {
	share shares.ShareID
	shape int32
	user  string // "": everybody
}

// fewTasks are read anew each time, if that is soon done: under a snapshot held open elsewhere the rows that tasks had before keep
// being read, however few tasks there are. Of more, or else, readings take a fiftieth of one backend, or a fifth when there is
// reason to read: new tasks, or nothing left to make while a stock is used up faster than it was thought. Read for each stock that
// runs low, beside claims at full speed, they took a thirtieth of two cores.
const (
	fewTasks     = 100
	soonDone     = 5 * time.Millisecond
	lookEase     = 50
	lookSoonEase = 5
	lookAtLeast  = 5 * time.Second
)

// took says how long the reading holds.
func (o *outlook) took(tasks int64, began, now time.Time) {
	o.soonest, o.until = now, now
	if took := now.Sub(began); tasks > fewTasks || took > o.soon {
		o.soonest = now.Add(lookSoonEase * took)
		o.until = now.Add(min(lookEase*took, lookAtLeast))
	}
}

// outdated says whether it is time to read anew; lacks, whether a stock that could be filled up has run low.
func (o *outlook) outdated(now time.Time, lacks func() bool) bool {
	switch {
	case !now.Before(o.until):
		return true
	case now.Before(o.soonest):
		return false
	}
	return o.heard.Load() || lacks()
}

// Heard tells that tasks or the site have changed: Generate looks anew soon.
func (g *Generator) Heard() { g.outlook.heard.Store(true) }

// next takes the neediest share that is left of the outlook. It reads a new one when that is due and *looked says that the
// caller has not had one; false: no share lacks anything.
func (g *Generator) next(ctx context.Context, looked *bool) (need, bool, error) {
	o := &g.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	if lacks := func() bool { return len(o.needs) == 0 && g.lacks() }; !*looked && o.outdated(time.Now(), lacks) {
		*looked = true
		if err := g.look(ctx); err != nil {
			return need{}, false, err
		}
	}
	if len(o.needs) == 0 {
		return need{}, false, nil
	}
	n := o.needs[0]
	o.needs = o.needs[1:]
	return n, true, nil
}

// look reads the levels. The outlook is locked.
func (g *Generator) look(ctx context.Context) error {
	o, began := &g.outlook, time.Now()
	o.heard.Store(false) // what is heard from now on, the reading may miss
	rows, err := g.cfg.Pool.Query(ctx, query["levels"])
	if err != nil {
		return err
	}
	levels, err := pgx.CollectRows(rows, pgx.RowToStructByName[level])
	if err != nil {
		return err
	}
	o.left = map[stockKey]int{}
	tasks, users := int64(0), usersOf(levels)
	for _, l := range levels {
		tasks += l.Tasks
		if l.PiecesLeft > 0 {
			o.left[l.stockKey()] = users[stockKey{share: l.ShareID, shape: l.ShapeID}]
		}
	}
	o.needs = nil
	if len(levels) > 0 {
		order, err := g.order(ctx, levels)
		if err != nil {
			return err
		}
		o.needs = needs(levels, o.withMade(g.cfg.Stock(), began), order, g.cfg.Mark)
	}
	o.took(tasks, began, time.Now())
	return nil
}

// order asks whom a slot would go to first, of those who have nothing but pieces.
func (g *Generator) order(ctx context.Context, levels []level) ([]shares.ShareID, error) {
	if g.cfg.Order == nil {
		return nil, nil
	}
	type key struct {
		share shares.ShareID
		shape int32
	}
	left := map[key]int64{}
	for _, l := range levels {
		if l.PiecesLeft > 0 {
			left[key{l.ShareID, l.ShapeID}] += l.PiecesLeft
		}
	}
	coming := make([]dispatcher.Coming, 0, len(left))
	for of, n := range left {
		coming = append(coming, dispatcher.Coming{Share: of.share, Shape: of.shape, Jobs: n})
	}
	return g.cfg.Order(ctx, coming)
}

// lacks says whether a stock that had pieces left has fallen under half of its mark. The outlook is locked.
func (g *Generator) lacks() bool {
	for _, s := range g.cfg.Stock() {
		users, left := g.outlook.left[stockKey{s.Share, s.Shape, s.User}]
		if left && s.Ready < g.cfg.Mark.part(g.cfg.Mark.low(s), users)/2 {
			return true
		}
	}
	return false
}

// rest puts back what a batch left of a need, behind the others. Its own batch has raised the epoch by one; if somebody
// else did as well, the next one makes nothing.
func (g *Generator) rest(n need, wants map[rung]int64) {
	o := &g.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noteMade(n, wants, time.Now())
	maps.DeleteFunc(wants, func(_ rung, want int64) bool { return want <= 0 })
	n.Epoch, n.Wants, n.Most = n.Epoch+1, wants, 0
	if len(wants) > 0 && time.Now().Before(o.until) {
		o.needs = append(o.needs, n)
	}
}
