package retry

import (
	"fmt"
	"regexp"
	"time"
)

// Action is what a rule does with a job.
type Action string

// The actions.
const (
	NoRetry          Action = "no_retry"          // it fails for good
	Limit            Action = "limit"             // it fails for good after so many attempts that match the rule
	IncreaseMemory   Action = "increase_memory"   // the next attempt asks for factor times the memory
	IncreaseWalltime Action = "increase_walltime" // and for factor times the walltime
	SplitSmaller     Action = "split_smaller"     // its piece becomes two
	AvoidQueue       Action = "avoid_queue"       // the next attempts go to other queues
	Wait             Action = "wait"              // nothing but the backoff of the rule
)

// Bounds of a policy.
const (
	MaxPattern = 1000 // bytes of a regex
	MaxFactor  = 100
)

// Rule is one line of retry_rules.
type Rule struct {
	Name    string        `yaml:"name" is:"required word=rule" doc:"unique; shown by divvy job show and in divvy_attempts_judged_total"`
	Match   Match         `yaml:"match" is:"required"`
	Action  Action        `yaml:"action" is:"required" enum:"no_retry,limit,increase_memory,increase_walltime,split_smaller,avoid_queue,wait"`
	Factor  float64       `yaml:"factor"`                                             // of increase_memory and increase_walltime, above 1
	Times   int           `yaml:"times" is:"1..1000"`                                 // of limit
	Backoff time.Duration `yaml:"backoff" is:"1s..720h" doc:"how long the job waits"` // 0: that of the task
	DryRun  bool          `yaml:"dry_run" doc:"only says what it would do; the next rule is looked at"`
	Expires time.Time     `yaml:"expires" doc:"the rule ends with this day or moment"` // zero: never
}

// Match is what an attempt must be like; what is not said matches all.
type Match struct {
	Outcome string         `yaml:"outcome" enum:"failed,lost"` // failed or lost
	Source  string         `yaml:"source" is:"word=source"`    // whose code; "": anybody's
	Codes   []Range        `yaml:"code"`
	Message *regexp.Regexp `yaml:"message"` // somewhere in the message
	Label   *regexp.Regexp `yaml:"label"`   // the label of the task, as a whole
}

// Range is some codes, both ends included.
type Range struct{ Low, High int64 }

// active says whether the rule acts, or is rehearsed, at that moment.
func (r *Rule) active(now time.Time) bool { return r.Expires.IsZero() || now.Before(r.Expires) }

// matches says whether the rule is about the attempt. anyLabel leaves out the label, which is not known everywhere.
func (r *Rule) matches(f *Failure, anyLabel bool) bool {
	m := &r.Match
	switch {
	case m.Outcome != "" && m.Outcome != f.Outcome,
		m.Message != nil && !m.Message.MatchString(f.Message),
		m.Label != nil && !anyLabel && !m.Label.MatchString(f.Label):
		return false
	}
	return m.code(f)
}

func (m *Match) code(f *Failure) bool {
	switch {
	case m.Source == "" && len(m.Codes) == 0:
		return true
	case m.Source != "":
		code, ok := f.Code(m.Source)
		return ok && (len(m.Codes) == 0 || m.has(code))
	}
	for _, code := range f.Codes() {
		if m.has(code) {
			return true
		}
	}
	return false
}

func (m *Match) has(code int64) bool {
	for _, r := range m.Codes {
		if r.Low <= code && code <= r.High {
			return true
		}
	}
	return false
}

// String is the rule's action in words.
func (r *Rule) String() string {
	switch r.Action {
	case Limit:
		return fmt.Sprintf("%s %d", r.Action, r.Times)
	case IncreaseMemory, IncreaseWalltime:
		return fmt.Sprintf("%s ×%g", r.Action, r.Factor)
	}
	return string(r.Action)
}
