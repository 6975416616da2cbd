package rules

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// past is how often jobs were returned before the attempts that they have now. It is read when they are granted, so that the verdict of the
// last attempt is right at once. Without it a job whose attempts are used up waits until Judge has looked.
type past struct {
	mu    sync.Mutex
	known map[int64]returned
	asked map[int64]int32 // attempts, by job
}

// returned are the attempts of a job before one that were not charged.
type returned struct{ attempt, times int32 }

// mostPast bounds the jobs that are known, and those that are asked for. Beyond it all is forgotten.
const mostPast = 1 << 16

// want asks for the attempts before one.
func (p *past) want(job int64, attempt int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil || len(p.asked) >= mostPast {
		p.asked = map[int64]int32{}
	}
	p.asked[job] = attempt
}

// before is how many attempts of a job before one were not charged; false: it is not known.
func (p *past) before(job int64, attempt int32) (times int32, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.known[job]
	return r.times, ok && r.attempt == attempt
}

// over forgets a job whose attempt ended.
func (p *past) over(job int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, job)
	delete(p.asked, job)
}

// open are some jobs that are asked for.
func (p *past) open(most int) map[int64]int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	jobs := map[int64]int32{}
	for job, attempt := range p.asked {
		if len(jobs) < most {
			jobs[job] = attempt
		}
	}
	return jobs
}

// learned notes what was read, where it is still asked for.
func (p *past) learned(job int64, r returned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[job] != r.attempt {
		return
	}
	delete(p.asked, job)
	if p.known == nil || len(p.known) >= mostPast {
		p.known = map[int64]returned{}
	}
	p.known[job] = r
}

// Granted hears of a grant: what the end of its attempt is judged by is read meanwhile. It is quick.
func (r *Rules) Granted(g *entry.Granted) {
	b, known := r.blocks.of(g.Job)
	if g.Attempt > 1 && (!known || g.Attempt >= b.most) {
		r.past.want(g.Job, g.Attempt)
	}
}

// triedRow are the attempts of a job that did not finish.
type triedRow struct {
	Job      int64
	Attempt  int32 // the last one
	Returned int32
}

// learnPast reads the attempts that are asked for, since the time when the oldest of their jobs was made. Those whose last attempt is not
// folded yet are read again.
func (r *Rules) learnPast(ctx context.Context) error {
	asked := r.past.open(learnBatch)
	if len(asked) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(asked))
	for job := range asked {
		ids = append(ids, job)
	}
	facts, err := collect[jobFacts](ctx, r.cfg.Pool, "facts", args{"jobs": ids})
	if err != nil {
		return fmt.Errorf("past attempts: %w", err)
	}
	since := time.Time{}
	for _, f := range facts {
		if since.IsZero() || f.MadeAt.Before(since) {
			since = f.MadeAt
		}
		if r.blocks.add(block{f.Low, f.High, f.MaxAttempts, f.Terms != nil}); asked[f.Job] < f.MaxAttempts {
			r.past.learned(f.Job, returned{attempt: asked[f.Job]}) // it has attempts to spare, however many were returned
		}
	}
	if since.IsZero() {
		return nil
	}
	rows, err := collect[triedRow](ctx, r.cfg.Pool, "past", args{"jobs": ids, "since": since})
	if err != nil {
		return fmt.Errorf("past attempts: %w", err)
	}
	for _, t := range rows {
		if t.Attempt+1 == asked[t.Job] {
			r.past.learned(t.Job, returned{asked[t.Job], t.Returned})
		}
	}
	return nil
}
