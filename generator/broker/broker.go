package broker

import (
	"cmp"
	"context"
	"embed"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Config is what a Broker works with.
type Config struct {
	Pool *pgxpool.Pool
	// Stock tells how fast shares start jobs and how many they could start now; nil: only Mark.Floor counts.
	Stock func() []dispatcher.Stock
	// Order tells in which order shares without any ready job come first at pulls; nil: in that of their ids.
	Order func(context.Context, []dispatcher.Coming) ([]shares.ShareID, error)
	Mark  Mark             // zero fields take the defaults
	Soon  time.Duration    // what a reading of few tasks takes at most that is done anew each time; 0: 5 ms
	Now   func() time.Time // nil: time.Now
}

// Broker knows what the last reading said: the shares that lack jobs, neediest first. All methods may be called at once.
type Broker struct {
	cfg   Config
	heard atomic.Bool // of changes since it was read

	mu      sync.Mutex
	needs   []Need
	left    map[stockKey]int // that had pieces left: how many users share the mark, see Mark.part
	soonest time.Time        // another reading is not worth its cost before,
	until   time.Time        // and due then, whatever one knows

	made map[stockKey]madeLately // jobs that the stock may not have yet
}

// New makes a Broker that has read nothing.
func New(cfg Config) *Broker {
	if cfg.Stock == nil {
		cfg.Stock = func() []dispatcher.Stock { return nil }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Soon = cmp.Or(cfg.Soon, soonDone)
	cfg.Mark = cfg.Mark.withDefaults()
	return &Broker{cfg: cfg}
}

// Mark is Config's, with its defaults.
func (b *Broker) Mark() Mark { return b.cfg.Mark }

// madeLately is how many jobs were made and when the last ones were.
type madeLately struct {
	n  int64
	at time.Time
}

// lately is how long the stock may take to have what was made.
const lately = time.Second

// noteMade remembers what a batch took off the wants of a need. The Broker is locked.
func (b *Broker) noteMade(n Need, wants map[Rung]int64, now time.Time) {
	if b.made == nil {
		b.made = map[stockKey]madeLately{}
	}
	for r, before := range n.Wants {
		key := stockKey{n.Share, r.Shape, r.User}
		m := b.made[key]
		if now.Sub(m.at) > lately {
			m.n = 0
		}
		b.made[key] = madeLately{m.n + before - wants[r], now}
	}
}

// withMade is the stock with the jobs that it may not have yet. The Broker is locked.
func (b *Broker) withMade(stock []dispatcher.Stock, now time.Time) []dispatcher.Stock {
	maps.DeleteFunc(b.made, func(_ stockKey, m madeLately) bool { return now.Sub(m.at) > lately })
	if len(b.made) == 0 || len(stock) == 0 {
		return stock
	}
	stock = slices.Clone(stock)
	left := maps.Clone(b.made)
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
func (b *Broker) took(tasks int64, began, now time.Time) {
	b.soonest, b.until = now, now
	if took := now.Sub(began); tasks > fewTasks || took > b.cfg.Soon {
		b.soonest = now.Add(lookSoonEase * took)
		b.until = now.Add(min(lookEase*took, lookAtLeast))
	}
}

// outdated says whether it is time to read anew; lacks, whether a stock that could be filled up has run low.
func (b *Broker) outdated(now time.Time, lacks func() bool) bool {
	switch {
	case !now.Before(b.until):
		return true
	case now.Before(b.soonest):
		return false
	}
	return b.heard.Load() || lacks()
}

// Heard tells that tasks or the site have changed: Next looks anew soon.
func (b *Broker) Heard() { b.heard.Store(true) }

// Next takes the neediest share that is left of the last reading. It reads a new one when that is due and *looked says that the
// caller has not had one; false: no share lacks anything.
func (b *Broker) Next(ctx context.Context, looked *bool) (Need, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if lacks := func() bool { return len(b.needs) == 0 && b.lacks() }; !*looked && b.outdated(b.cfg.Now(), lacks) {
		*looked = true
		if err := b.look(ctx); err != nil {
			return Need{}, false, err
		}
	}
	if len(b.needs) == 0 {
		return Need{}, false, nil
	}
	n := b.needs[0]
	b.needs = b.needs[1:]
	return n, true, nil
}

// look reads the levels. The Broker is locked.
func (b *Broker) look(ctx context.Context) error {
	began := b.cfg.Now()
	b.heard.Store(false) // what is heard from now on, the reading may miss
	levels, err := pg.Collect[level](ctx, b.cfg.Pool, query["levels"])
	if err != nil {
		return err
	}
	b.left = map[stockKey]int{}
	tasks, users := int64(0), usersOf(levels)
	for _, l := range levels {
		tasks += l.Tasks
		if l.PiecesLeft > 0 {
			b.left[l.stockKey()] = users[stockKey{share: l.ShareID, shape: l.ShapeID}]
		}
	}
	b.needs = nil
	if len(levels) > 0 {
		order, err := b.order(ctx, levels)
		if err != nil {
			return err
		}
		b.needs = needs(levels, b.withMade(b.cfg.Stock(), began), order, b.cfg.Mark)
	}
	b.took(tasks, began, b.cfg.Now())
	return nil
}

// order asks whom a slot would go to first, of those who have nothing but pieces.
func (b *Broker) order(ctx context.Context, levels []level) ([]shares.ShareID, error) {
	if b.cfg.Order == nil {
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
	return b.cfg.Order(ctx, coming)
}

// lacks says whether a stock that had pieces left has fallen under half of its mark. The Broker is locked.
func (b *Broker) lacks() bool {
	for _, s := range b.cfg.Stock() {
		users, left := b.left[stockKey{s.Share, s.Shape, s.User}]
		if left && s.Ready < b.cfg.Mark.part(b.cfg.Mark.low(s), users)/2 {
			return true
		}
	}
	return false
}

// Rest puts back what a batch left of a need, behind the others. Its own batch has raised the epoch by one; if somebody
// else did as well, the next one makes nothing.
func (b *Broker) Rest(n Need, wants map[Rung]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noteMade(n, wants, b.cfg.Now())
	maps.DeleteFunc(wants, func(_ Rung, want int64) bool { return want <= 0 })
	n.Epoch, n.Wants, n.Most = n.Epoch+1, wants, 0
	if len(wants) > 0 && b.cfg.Now().Before(b.until) {
		b.needs = append(b.needs, n)
	}
}
