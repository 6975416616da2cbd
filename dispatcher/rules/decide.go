package rules

import (
	"cmp"
	"slices"
	"sync"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// Reclaimed is the reason of orders to give units back. Every other one is that of a kill.
const Reclaimed = "reclaim"

// Decide completes the end of a lease that the leader was told: the outcome that is recorded, and what becomes of the job. It is
// for the leader alone, once for each lease: what ends is counted. An order that stands counts as told to the pilot. Unwanted
// says that the job is not to be tried again (Killed.Idle).
func (r *Rules) Decide(l machine.Lease, said entry.Ended, unwanted bool) entry.Ended {
	r.ends.add(l, said.Outcome)
	defer r.past.over(l.Job)
	e := retry.End{Said: said.Outcome, Unwanted: unwanted, Number: l.Attempt}
	if l.Order != nil {
		e.Told, e.Killed = l.Order.Reason == Reclaimed, l.Order.Reason != Reclaimed
	}
	said.Outcome = e.Recorded()
	switch {
	case said.Outcome == entry.Finished: // also where nobody wanted it any more
		said.Next = entry.Over
	case e.Killed, unwanted:
		said.Next = entry.Undone
	case said.Outcome == entry.Returned:
		said.Next = entry.Again
	default:
		said.Next = r.charged(l, said)
	}
	return said
}

// charged is what becomes of a job whose attempt was charged and did not finish.
func (r *Rules) charged(l machine.Lease, said entry.Ended) entry.Next {
	b, known := r.blocks.of(l.Job)
	site := r.site.Load()
	switch {
	case !known || site == nil:
		return entry.Waits
	case b.most == 1 && l.Attempt == 1 && said.Outcome != entry.Cancelled: // a job whose pilot gave up counts as failed: Closed says so
		return entry.Over
	case b.terms || mayRule(site.Policy, said, l.Attempt):
		return entry.Waits
	case l.Attempt < b.most:
		return entry.Again
	}
	switch times, ok := r.past.before(l.Job, l.Attempt); { // attempts that were returned are not charged
	case ok && l.Attempt-times < b.most:
		return entry.Again
	case ok && said.Outcome != entry.Cancelled:
		return entry.Over
	}
	return entry.Waits
}

// mayRule reports whether the site may have a say in an attempt, whatever its pilot wrote.
func mayRule(p *policy.Policy, said entry.Ended, number int32) bool {
	if p == nil || said.Outcome != entry.Failed && said.Outcome != entry.Lost {
		return false
	}
	outcome := policy.Failed
	if said.Outcome == entry.Lost {
		outcome = policy.Lost
		if p.Quarantine() > 0 && int(number) >= p.Quarantine() {
			return true
		}
	}
	return slices.ContainsFunc(p.Rules, func(r policy.Rule) bool {
		m := &r.Match
		return (m.Outcome == "" || m.Outcome == outcome) && (m.Source != policy.Payload || len(m.Codes) == 0 || has(m.Codes, int64(said.ExitCode)))
	})
}

func has(codes []policy.Range, code int64) bool {
	return slices.ContainsFunc(codes, func(r policy.Range) bool { return r.Low <= code && code <= r.High })
}

// blocks are blocks of jobs that were read. What is said of them never changes.
type blocks struct {
	mu     sync.Mutex
	list   []block // by rising ids
	wanted map[int64]bool
}

type block struct {
	low, high int64
	most      int32 // attempts of each job
	terms     bool  // its task has terms for retries
}

// Bounds of what is remembered: beyond them all is forgotten, and read again when it is asked for.
const (
	mostBlocks = 1 << 17
	mostWanted = 1 << 14
)

// of is the block of a job; false when it is not known yet.
func (s *blocks) of(job int64) (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, found := slices.BinarySearchFunc(s.list, job, func(b block, job int64) int { return cmp.Compare(b.low, job) })
	if !found {
		at--
	}
	if at >= 0 && s.list[at].high >= job {
		return s.list[at], true
	}
	if s.wanted == nil {
		s.wanted = map[int64]bool{}
	}
	if len(s.wanted) < mostWanted {
		s.wanted[job] = true
	}
	return block{}, false
}

// unknown takes off some jobs whose blocks were asked for in vain.
func (s *blocks) unknown(most int) (jobs []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for job := range s.wanted {
		if len(jobs) < most {
			jobs = append(jobs, job)
			delete(s.wanted, job)
		}
	}
	return jobs
}

// add remembers a block, and returns 1 if it is new.
func (s *blocks) add(b block) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= mostBlocks {
		s.list = nil
	}
	at, found := slices.BinarySearchFunc(s.list, b.low, func(b block, low int64) int { return cmp.Compare(b.low, low) })
	if found {
		return 0
	}
	s.list = slices.Insert(s.list, at, b)
	return 1
}
