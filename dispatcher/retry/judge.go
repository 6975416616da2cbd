package retry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// Site is what of a site decides about retries, at one moment.
type Site struct {
	Policy *policy.Policy // nil: it has no rules
	Queues []shares.Queue
	Now    time.Time
}

// Attempt is one that was charged and did not finish.
type Attempt struct {
	policy.Failure // its Label is that of the job's requirements
	Queue          shares.QueueID
}

// Tried is a job whose last attempt is judged.
type Tried struct {
	Need     job.Requirements
	Terms    *policy.Terms // of the task; nil: none
	Attempts []Attempt     // charged and not finished, oldest first; at least one
	Number   int32         // of the last attempt, from 1: those that were returned count
	Most     int32         // attempts that the job may have, with those that were returned
}

// Verdict is what becomes of the job: it is over, its piece is split, or it is tried again, at once or after a backoff.
type Verdict struct {
	policy.Judgement
	Asked bool              // a rule, the terms or the bound on lost attempts could have a say
	Need  *job.Requirements // of the next attempt; nil: as before
	Note  string            // what is written at the attempt; empty: nothing
}

// Judge decides about a job by its last attempt, with the rules of the site and the terms of the task where these can have a say.
func Judge(t Tried, site Site) (v Verdict) {
	switch {
	case t.Number >= t.Most:
		v.Over = true
		return v
	case !t.asks(site.Policy):
		return v
	}
	c := policy.Case{Attempts: make([]policy.Failure, len(t.Attempts))}
	if t.Terms != nil {
		c.Terms = *t.Terms
	}
	for i := range t.Attempts {
		c.Attempts[i] = t.Attempts[i].Failure
		c.Attempts[i].Label = t.Need.Label
	}
	v = Verdict{Judgement: site.Policy.Judge(c, site.Now), Asked: true}
	switch {
	case v.Over:
		v.Note = "failed for good: " + v.Reason
		return v
	case v.Split:
		v.Note = v.Reason
		return v
	}
	need, changes := v.change(t.Need, t.last(), site.Queues)
	if len(changes) > 0 && !runs(site.Queues, need) && runs(site.Queues, t.Need) {
		changes = []string{"as before, since no queue could run it then: " + strings.Join(changes, ", ")}
	} else if len(changes) > 0 {
		v.Need = &need
	}
	if v.Backoff > 0 {
		changes = append(changes, fmt.Sprintf("again after %s", v.Backoff))
	}
	v.Note = sentence(v.Reason, changes)
	return v
}

func (t *Tried) last() *Attempt { return &t.Attempts[len(t.Attempts)-1] }

// asks reports whether rules, terms or the bound on lost attempts may have a say, whatever the label of the task.
func (t *Tried) asks(p *policy.Policy) bool {
	f := &t.last().Failure
	lost := f.Outcome == policy.Lost && p.Quarantine() > 0 && int(t.Number) >= p.Quarantine()
	return t.Terms != nil || lost || (f.Outcome == policy.Failed || f.Outcome == policy.Lost) && p.MayMatch(f)
}

// change returns the requirements that the judgement asks for, and how they differ from those of the attempt, in words.
func (v *Verdict) change(need job.Requirements, last *Attempt, queues []shares.Queue) (next job.Requirements, words []string) {
	next = need
	if v.Memory > 0 {
		if base := max(need.MemoryMB, last.MemoryMB); base > 0 {
			next.MemoryMB = grown(base, v.Memory)
			words = append(words, fmt.Sprintf("memory %d → %d MB", need.MemoryMB, next.MemoryMB))
		}
	}
	if v.Walltime > 0 {
		base := need.WalltimeS
		if base == 0 {
			base = int64(math.Ceil(last.Took.Seconds()))
		}
		next.WalltimeS = grown(base, v.Walltime)
		words = append(words, fmt.Sprintf("walltime %d → %d s", need.WalltimeS, next.WalltimeS))
	}
	if at := slices.IndexFunc(queues, func(q shares.Queue) bool { return q.ID == last.Queue }); v.Avoid && at >= 0 {
		if not := job.Not + queues[at].Name; !slices.Contains(need.Queues, not) {
			next.Queues = append(slices.Clone(need.Queues), not)
			words = append(words, "not at "+queues[at].Name)
		}
	}
	return next, words
}

// grown is a figure times a factor, rounded up.
func grown(n int64, factor float64) int64 {
	return int64(math.Ceil(min(float64(n)*factor, math.MaxInt32)))
}

// runs reports whether a queue can run jobs with these requirements. Where their claims are does not count.
func runs(queues []shares.Queue, need job.Requirements) bool {
	need.Claims = nil
	return slices.ContainsFunc(queues, func(q shares.Queue) bool { return job.RunsAt(need, q) })
}

func sentence(reason string, effects []string) string {
	joined := strings.Join(effects, ", ")
	if reason == "" || joined == "" {
		return reason + joined
	}
	return reason + ": " + joined
}

// Took returns a duration of so many seconds, rounded to microseconds, in which the database counts.
func Took(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}
