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

// known caches what Decide needs to know about jobs: the block of each job and, if it may be at its last attempt, how
// often it was returned before. Decide asks for what is missing and Learn reads it, so that the verdict needs no
// database. Without it the job waits until Judge has looked.
type known struct {
	mu     sync.Mutex
	blocks []block // by rising ids; a block never changes
	past   map[int64]returned
	asked  map[int64]int32 // by job: its current attempt; 0: only the block is asked for
}

// block is a range of jobs that were made alike.
type block struct {
	low, high int64
	most      int32 // attempts of each job
	terms     bool  // its task has terms for retries
}

// returned counts the attempts of a job before this one that were not charged.
type returned struct{ attempt, times int32 }

// Bounds of the cache. A full cache is emptied and read again on demand.
const (
	mostBlocks = 1 << 17
	mostPast   = 1 << 16 // jobs; as many may be asked for
)

// block returns the block of a job; false if it is not known yet.
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

// take returns how many attempts of a job before an ended one were not charged, and forgets them; false if they are
// not known.
func (k *known) take(job int64, attempt int32) (times int32, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.past[job]
	delete(k.past, job)
	delete(k.asked, job)
	return r.times, ok && r.attempt == attempt
}

// open returns some of the jobs that were asked for, those with attempts first. It removes jobs of which only the
// block was asked for: the block is there now, or never will be.
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

// learned stores what was read about a job if it is still asked for.
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

// Granted asks for what the verdict on a granted attempt will need, so that it is read while the attempt runs. It is
// quick.
func (r *Rules) Granted(g *entry.Granted) {
	if b, known := r.known.block(g.Job); g.Attempt > 1 && (!known || g.Attempt >= b.most) {
		r.known.want(g.Job, g.Attempt)
	}
}

// triedRow counts the attempts of a job that did not finish.
type triedRow struct {
	Job      int64
	Attempt  int32 // the last one
	Returned int32
}

// learnBatch bounds the jobs of one Learn.
const learnBatch = 2000

// Learn adopts the site in force, and reads the blocks and past attempts that Decide has asked for. It returns how
// many blocks it read. It looks at attempts since the oldest of the jobs was made. A job whose last attempt is not
// folded yet is read again.
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
	var late []int64 // jobs that may have no attempts left
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
