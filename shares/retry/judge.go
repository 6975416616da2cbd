package retry

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Policy is what a site says about attempts that did not finish. The zero Policy says nothing, and so does nil.
type Policy struct {
	Rules           []Rule    // in their order
	QuarantineAfter int       `yaml:"quarantine_after" is:"..1000" doc:"a job lost so often in a row fails; 0 = never"` // attempts lost in a row, where the task does not say; 0 = never
	BlackHole       BlackHole `yaml:"black_hole"`
	Codes           Codes
}

// BlackHole says when a queue counts as one that fails whatever it gets; Sample 0 = never.
type BlackHole struct {
	Fails  float64       `yaml:"fails" is:"0.5..1" hint:"the part of what ends at the queue that fails or is lost"` // part of what ended there that failed or was lost
	Sample int           `yaml:"sample" is:"5..1000000000"`                                                         // ends there, at least
	Window time.Duration `yaml:"window" is:"1m.."`                                                                  // in which they are counted
	Probe  time.Duration `yaml:"probe" is:"1s.."`                                                                   // how often such a queue gets a job to try
}

// Terms are those of a task. The zero Terms leave all to its max_attempts.
type Terms struct {
	MaxFailures     int     `json:"max_failures,omitempty"`
	BackoffS        float64 `json:"backoff_s,omitempty"`     // after the first attempt; twice as long after each further one
	MaxBackoffS     float64 `json:"max_backoff_s,omitempty"` // at the most
	QuarantineAfter int     `json:"quarantine_after,omitempty"`
}

// DefaultMaxBackoff bounds a backoff that grows, where the task does not say.
const DefaultMaxBackoff = 6 * time.Hour

// MayMatch says whether a rule could be about an attempt, whatever the label of its task.
func (p *Policy) MayMatch(f *Failure) bool {
	if p == nil {
		return false
	}
	for i := range p.Rules {
		if p.Rules[i].matches(f, true) {
			return true
		}
	}
	return false
}

// Quarantine is after how many lost attempts in a row jobs are quarantined whose task does not say; 0 = never.
func (p *Policy) Quarantine() int {
	if p == nil {
		return 0
	}
	return p.QuarantineAfter
}

// Case is a job whose last attempt is to be judged.
type Case struct {
	Terms    Terms
	Attempts []Failure // those that were charged and did not finish, oldest first; the last one is judged
}

// Judgement is what becomes of the job.
type Judgement struct {
	Over       bool // it fails for good
	Quarantine bool // because it ends the pilots that run it
	Split      bool
	Backoff    time.Duration
	Memory     float64 // factor; 0 = as before
	Walltime   float64
	Avoid      bool     // the queue of this attempt
	Rule       string   // that said so; "": none
	Rehearsed  []string // rules that would have decided, were they not rehearsed (dry_run)
	Reason     string   // in words; empty: again at once, as without any rule
}

// Judge says what becomes of a job at that moment.
func (p *Policy) Judge(c Case, now time.Time) Judgement {
	if p == nil {
		p = &Policy{}
	}
	var out Judgement
	var said []string
	last := &c.Attempts[len(c.Attempts)-1]
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.active(now) || !r.matches(last, false) {
			continue
		}
		if r.DryRun {
			out.Rehearsed = append(out.Rehearsed, r.Name)
			said = append(said, fmt.Sprintf("rule %s would say %s", r.Name, r))
			continue
		}
		out.follow(r, c)
		said = append(said, fmt.Sprintf("rule %s: %s", r.Name, r))
		break
	}
	if bound := c.bound(p.QuarantineAfter); bound != "" {
		out = Judgement{Over: true, Quarantine: strings.HasPrefix(bound, quarantined), Rule: out.Rule, Rehearsed: out.Rehearsed}
		said = append(said, bound)
	}
	if out.Over {
		out.Split, out.Backoff = false, 0
	} else if out.Backoff == 0 {
		out.Backoff = c.Terms.backoff(len(c.Attempts))
	}
	out.Reason = strings.Join(said, "; ")
	return out
}

func (j *Judgement) follow(r *Rule, c Case) {
	j.Rule, j.Backoff = r.Name, r.Backoff
	switch r.Action {
	case NoRetry:
		j.Over = true
	case Limit:
		n := 0
		for i := range c.Attempts {
			if r.matches(&c.Attempts[i], false) {
				n++
			}
		}
		j.Over = n >= r.Times
	case IncreaseMemory:
		j.Memory = r.Factor
	case IncreaseWalltime:
		j.Walltime = r.Factor
	case SplitSmaller:
		j.Split = true
	case AvoidQueue:
		j.Avoid = true
	}
}

// quarantined begins the reason of a job that was lost too often.
const quarantined = "quarantined"

// bound is why the task's own terms end the job; empty: they don't.
func (c *Case) bound(quarantineAfter int) string {
	if c.Terms.QuarantineAfter != 0 {
		quarantineAfter = c.Terms.QuarantineAfter
	}
	failures, inARow := 0, 0
	for _, a := range c.Attempts {
		switch a.Outcome {
		case Failed:
			failures++
			inARow = 0
		case Lost:
			inARow++
		default:
			inARow = 0
		}
	}
	switch {
	case c.Terms.MaxFailures > 0 && failures >= c.Terms.MaxFailures:
		return fmt.Sprintf("failed %d times, max_failures is %d", failures, c.Terms.MaxFailures)
	case quarantineAfter > 0 && inARow >= quarantineAfter:
		return fmt.Sprintf("%s: %d attempts were lost in a row", quarantined, inARow)
	}
	return ""
}

// backoff is the wait after so many attempts.
func (t Terms) backoff(attempts int) time.Duration {
	most := t.MaxBackoffS
	if most == 0 {
		most = max(DefaultMaxBackoff.Seconds(), t.BackoffS)
	}
	return time.Duration(min(t.BackoffS*math.Exp2(float64(attempts-1)), most) * float64(time.Second))
}
