package generator

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

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
	left    map[stockKey]bool // that had pieces left
	soonest time.Time         // another reading is not worth its cost before,
	until   time.Time         // and due then, whatever one knows
}

// stockKey names what stock is kept of.
type stockKey struct {
	share shares.ShareID
	shape int32
}

// fewTasks are read anew each time, if that is soon done: under a snapshot held open elsewhere the rows that tasks had before keep
// being read, however few tasks there are. Of more, or else, readings take a twentieth of one backend, or a fifth when there is
// reason to read: new tasks, or a stock that is used up faster than it was thought.
const (
	fewTasks     = 100
	soonDone     = 5 * time.Millisecond
	lookEase     = 20
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
	if !*looked && o.outdated(time.Now(), g.lacks) {
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
	o.left = map[stockKey]bool{}
	tasks := int64(0)
	for _, l := range levels {
		tasks += l.Tasks
		if l.PiecesLeft > 0 {
			o.left[stockKey{l.ShareID, l.ShapeID}] = true
		}
	}
	o.needs = nil
	if len(levels) > 0 {
		o.needs = needs(levels, g.cfg.Stock(), g.cfg.Mark)
	}
	o.took(tasks, began, time.Now())
	return nil
}

// lacks says whether a stock that had pieces left has fallen under half of its mark. The outlook is locked.
func (g *Generator) lacks() bool {
	for _, s := range g.cfg.Stock() {
		if g.outlook.left[stockKey{s.Share, s.Shape}] && s.Ready < g.cfg.Mark.low(s)/2 {
			return true
		}
	}
	return false
}

// rest puts back what a batch left of a need, behind the others. Its own batch has raised the epoch by one; if somebody
// else did as well, the next one makes nothing.
func (g *Generator) rest(n need, wants map[rung]int64) {
	maps.DeleteFunc(wants, func(_ rung, want int64) bool { return want <= 0 })
	n.Epoch, n.Wants = n.Epoch+1, wants
	o := &g.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(wants) > 0 && time.Now().Before(o.until) {
		o.needs = append(o.needs, n)
	}
}
