package rules

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// known is what Decide goes by of jobs. What it lacks is asked for, and read by Learn: the block of a job, and for one that may have its
// last attempt how often it was returned before, so that the verdict is right at once. Without it the job waits until Judge has looked.
type known struct {
	mu     sync.Mutex
	blocks []block // by rising ids; what is said of them never changes
	past   map[int64]returned
	asked  map[int64]int32 // by job: the attempt that it has; 0: its block alone is asked for
}

// block is jobs that were made alike.
type block struct {
	low, high int64
	most      int32 // attempts of each job
	terms     bool  // its task has terms for retries
}

// returned are the attempts of a job before one that were not charged.
type returned struct{ attempt, times int32 }

// Bounds of what is remembered: beyond them all is forgotten, and read again when it is asked for.
const (
	mostBlocks = 1 << 17
	mostPast   = 1 << 16 // jobs, as many are asked for
)

// block is that of a job; false when it is not known yet.
func (k *known) block(job int64) (block, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, found := k.at(job)
	if !found {
		at--
	}
	if at >= 0 && k.blocks[at].high >= job {
		return k.blocks[at], true
	}
	k.ask(job, 0)
	return block{}, false
}

func (k *known) at(low int64) (int, bool) {
	return slices.BinarySearchFunc(k.blocks, low, func(b block, low int64) int { return cmp.Compare(b.low, low) })
}

func (k *known) ask(job int64, attempt int32) {
	if len(k.asked) >= mostPast {
		maps.DeleteFunc(k.asked, func(_ int64, before int32) bool { return before == 0 }) // blocks can wait
	}
	if k.asked == nil || len(k.asked) >= mostPast {
		k.asked = map[int64]int32{}
	}
	k.asked[job] = attempt
}

func (k *known) want(job int64, attempt int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ask(job, attempt)
}

// take is how many attempts of a job before one that ended were not charged; false: it is not known. It forgets them.
func (k *known) take(job int64, attempt int32) (times int32, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.past[job]
	delete(k.past, job)
	delete(k.asked, job)
	return r.times, ok && r.attempt == attempt
}

// open are some jobs that are asked for, first those whose attempts are. Those of which the block alone is asked for it takes off: that is
// there, or never will be.
func (k *known) open(most int) map[int64]int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	jobs := map[int64]int32{}
	for _, blocks := range []bool{false, true} {
		for job, attempt := range k.asked {
			if len(jobs) == most {
				return jobs
			}
			if blocks != (attempt == 0) {
				continue
			}
			if jobs[job] = attempt; blocks {
				delete(k.asked, job)
			}
		}
	}
	return jobs
}

// add remembers a block, and returns 1 if it is new.
func (k *known) add(b block) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.blocks) >= mostBlocks {
		k.blocks = nil
	}
	at, found := k.at(b.low)
	if found {
		return 0
	}
	k.blocks = slices.Insert(k.blocks, at, b)
	return 1
}

// learned notes what was read of a job, where it is still asked for.
func (k *known) learned(job int64, r returned) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked[job] != r.attempt {
		return
	}
	delete(k.asked, job)
	if k.past == nil || len(k.past) >= mostPast {
		k.past = map[int64]returned{}
	}
	k.past[job] = r
}

// Granted hears of a grant: what the end of its attempt is judged by is read meanwhile. It is quick.
func (r *Rules) Granted(g *entry.Granted) {
	if b, known := r.known.block(g.Job); g.Attempt > 1 && (!known || g.Attempt >= b.most) {
		r.known.want(g.Job, g.Attempt)
	}
}

// triedRow are the attempts of a job that did not finish.
type triedRow struct {
	Job      int64
	Attempt  int32 // the last one
	Returned int32
}

// learnBatch is how many jobs one Learn reads of.
const learnBatch = 2000

// Learn takes over the site in force, and reads the blocks and the past attempts of jobs that Decide has to know. It returns how many blocks
// it read. Past attempts are read since the time when the oldest of the jobs was made; those whose last one is not folded yet are read again.
func (r *Rules) Learn(ctx context.Context) (n int, err error) {
	if _, err := r.siteNow(ctx); err != nil {
		return 0, fmt.Errorf("learn: %w", err)
	}
	asked := r.known.open(learnBatch)
	if len(asked) == 0 {
		return 0, nil
	}
	facts, err := pg.Collect[jobFacts](ctx, r.cfg.Pool, query["facts"], args{"jobs": slices.Collect(maps.Keys(asked))})
	if err != nil {
		return 0, fmt.Errorf("learn: %w", err)
	}
	var late []int64 // that may have no attempts left
	since := time.Time{}
	for _, f := range facts {
		n += r.known.add(block{f.Low, f.High, f.MaxAttempts, f.Terms != nil})
		switch attempt := asked[f.Job]; {
		case attempt == 0:
		case attempt < f.MaxAttempts:
			r.known.learned(f.Job, returned{attempt: attempt}) // it has attempts to spare, however many were returned
		default:
			late = append(late, f.Job)
			if since.IsZero() || f.MadeAt.Before(since) {
				since = f.MadeAt
			}
		}
	}
	if len(late) == 0 {
		return n, nil
	}
	rows, err := pg.Collect[triedRow](ctx, r.cfg.Pool, query["past"], args{"jobs": late, "since": since})
	if err != nil {
		return n, fmt.Errorf("learn: past attempts: %w", err)
	}
	for _, t := range rows {
		if t.Attempt+1 == asked[t.Job] {
			r.known.learned(t.Job, returned{asked[t.Job], t.Returned})
		}
	}
	return n, nil
}
