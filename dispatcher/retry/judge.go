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

// Attempt is one that was charged and did not finish.
type Attempt struct {
	policy.Failure // its Label is that of the job's requirements
	Queue          shares.QueueID
}

// Tried is a job whose last attempt is judged.
type Tried struct {
	Need     job.Requirements
	Terms    policy.Terms
	Attempts []Attempt // charged and not finished, oldest first; at least one
}

// Verdict is what becomes of the job.
type Verdict struct {
	policy.Judgement
	Need *job.Requirements // of the next attempt; nil: as before
	Note string            // what is written at the attempt; empty: nothing, the job is tried again at once
}

// Judge applies the rules of the site and the terms of the task to a job's last attempt.
func Judge(t Tried, site Site) Verdict {
	c := policy.Case{Terms: t.Terms, Attempts: make([]policy.Failure, len(t.Attempts))}
	for i := range t.Attempts {
		c.Attempts[i] = t.Attempts[i].Failure
		c.Attempts[i].Label = t.Need.Label
	}
	v := Verdict{Judgement: site.Policy.Judge(c, site.Now)}
	switch {
	case v.Over:
		v.Note = "failed for good: " + v.Reason
		return v
	case v.Split:
		v.Note = v.Reason
		return v
	}
	need, changes := v.change(t.Need, &t.Attempts[len(t.Attempts)-1], site.Queues)
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
	if name := nameOf(queues, last.Queue); v.Avoid && name != "" && !slices.Contains(need.Queues, job.Not+name) {
		next.Queues = append(slices.Clone(need.Queues), job.Not+name)
		words = append(words, "not at "+name)
	}
	return next, words
}

// grown is a figure times a factor, rounded up.
func grown(n int64, factor float64) int64 {
	return int64(math.Ceil(min(float64(n)*factor, math.MaxInt32)))
}

// nameOf returns the name of a queue; empty when the site does not have it any more.
func nameOf(queues []shares.Queue, id shares.QueueID) string {
	if i := slices.IndexFunc(queues, func(q shares.Queue) bool { return q.ID == id }); i >= 0 {
		return queues[i].Name
	}
	return ""
}

// runs reports whether a queue can run jobs with these requirements. Where their claims are does not count.
func runs(queues []shares.Queue, need job.Requirements) bool {
	need.Claims = nil
	return slices.ContainsFunc(queues, func(q shares.Queue) bool { return job.RunsAt(need, q) })
}

// sentence joins a reason and its effects.
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
