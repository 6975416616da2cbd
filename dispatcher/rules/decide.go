package rules

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// Reclaimed is the reason of orders to give units back. Every other one is that of a kill.
const Reclaimed = "reclaim"

// Decide completes the end of a lease that the leader was told: the outcome that is recorded, and what becomes of the job. It is
// for the leader alone, once for each lease: what ends is counted. An order that stands counts as told to the pilot: an attempt that
// was to give its units back, and did not finish afterwards, counts as returned, unless its lease ran out. Unwanted says that the job
// is not to be tried again (Killed.Idle).
func (r *Rules) Decide(l machine.Lease, said entry.Ended, unwanted bool) entry.Ended {
	r.ends.do(func(c *retry.Counts) { c.Add(l.Queue, l.Shape, said.Outcome) })
	times, read := r.known.take(l.Job, l.Attempt)
	reclaimed := l.Order != nil && l.Order.Reason == Reclaimed
	if reclaimed && (said.Outcome == entry.Cancelled || said.Outcome == entry.Failed) {
		said.Outcome = entry.Returned
	}
	switch {
	case said.Outcome == entry.Finished: // also if its job was killed
		said.Next = entry.Over
	case l.Order != nil && !reclaimed, unwanted:
		said.Next = entry.Undone
	case said.Outcome == entry.Returned:
		said.Next = entry.Again
	default:
		said.Next = r.charged(l, said, times, read)
	}
	return said
}

// charged is what becomes of a job whose attempt was charged and did not finish; times is how many before were not, if that is known.
func (r *Rules) charged(l machine.Lease, said entry.Ended, times int32, read bool) entry.Next {
	b, known := r.known.block(l.Job)
	site := r.site.Load()
	switch {
	case !known || site == nil:
		return entry.Waits
	case b.most == 1 && l.Attempt == 1 && said.Outcome != entry.Cancelled: // a job whose pilot gave up counts as failed: Closed says so
		return entry.Over
	case b.terms || mayRule(site.Policy, said, l.Attempt):
		return entry.Waits
	case l.Attempt < b.most, read && l.Attempt-times < b.most: // attempts that were returned are not charged
		return entry.Again
	case read && said.Outcome != entry.Cancelled:
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
	code := int64(said.ExitCode)
	return slices.ContainsFunc(p.Rules, func(r policy.Rule) bool {
		m := &r.Match
		return (m.Outcome == "" || m.Outcome == outcome) && (m.Source != policy.Payload || len(m.Codes) == 0 ||
			slices.ContainsFunc(m.Codes, func(r policy.Range) bool { return r.Low <= code && code <= r.High }))
	})
}
