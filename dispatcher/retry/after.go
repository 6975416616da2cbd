package retry

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
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

// End is an attempt that ended, and what its job may still do.
type End struct {
	Said     entry.Outcome // by the pilot; Lost: its lease ran out; Returned: its grace is over and the pilot did not end it
	Told     bool          // the pilot was told to give the units back
	Killed   bool          // a cancel order stood at the lease
	Unwanted bool          // the task was scaled down and does not want the job any more
	Number   int32         // of the attempt, from 1
	Most     int32         // attempts that the job may have
	Need     job.Requirements
	Terms    *policy.Terms // of the task; nil: none
	Attempt  Attempt
	Earlier  []Attempt // charged and not finished before this one, oldest first
	Read     bool      // Earlier is known; it need not be before the second attempt
}

// Next is what becomes of the job.
type Next struct {
	Outcome entry.Outcome // of the attempt, as it is recorded
	Is      entry.Next
	Final   entry.Outcome // state of a job that is over: Finished, Failed or Cancelled
	Most    int32         // attempts that the job may have from now on
	Until   time.Time     // of one that waits; zero: until its attempts are read and Judge has decided
	Split   bool          // it waits until its piece is split
	Need    *job.Requirements
	Note    string            // what is written at the attempt; empty: nothing
	Judged  *policy.Judgement // what Judge said; nil: it was not asked
}

// Recorded returns the outcome that is recorded. An attempt that was to give its units back, and did not finish after its pilot
// was told so, counts as returned, unless it was killed as well or its lease ran out.
func (e *End) Recorded() entry.Outcome {
	if e.Told && !e.Killed && (e.Said == entry.Cancelled || e.Said == entry.Failed) {
		return entry.Returned
	}
	return e.Said
}

// After decides what becomes of a job whose attempt ended.
func After(e End, site Site) Next {
	n := Next{Outcome: e.Recorded(), Is: entry.Over, Most: e.Most}
	returned := n.Outcome == entry.Returned
	switch {
	case n.Outcome == entry.Finished:
		n.Final = entry.Finished
	case e.Killed, e.Unwanted && (returned || e.Number < e.Most):
		n.Final = entry.Cancelled
	case returned:
		n.Is, n.Most = entry.Again, e.Most+1
	case e.Number >= e.Most:
		n.Final = entry.Failed
	case !e.judged(site.Policy):
		n.Is = entry.Again
	case e.Number > 1 && !e.Read:
		n.Is = entry.Waits
	default:
		e.Attempt.Outcome = outcomeWords[n.Outcome]
		t := Tried{Need: e.Need, Attempts: append(e.Earlier[:len(e.Earlier):len(e.Earlier)], e.Attempt)}
		if e.Terms != nil {
			t.Terms = *e.Terms
		}
		n.follow(Judge(t, site), site.Now)
	}
	return n
}

// outcomeWords are the outcomes as rules name them.
var outcomeWords = map[entry.Outcome]string{entry.Failed: policy.Failed, entry.Lost: policy.Lost, entry.Cancelled: "cancelled"}

// judged reports whether rules, terms or the bound on lost attempts may have a say in an attempt that was charged.
func (e *End) judged(p *policy.Policy) bool {
	f := e.Attempt.Failure
	f.Outcome = outcomeWords[e.Said]
	lost := e.Said == entry.Lost && p.Quarantine() > 0 && int(e.Number) >= p.Quarantine()
	return e.Terms != nil || lost || Ruled(p, &f)
}

// Ruled reports whether a rule of the site may match an attempt, as far as is known without the label of its task.
func Ruled(p *policy.Policy, f *policy.Failure) bool {
	return (f.Outcome == policy.Failed || f.Outcome == policy.Lost) && p.MayMatch(f)
}

// follow does what a verdict says.
func (n *Next) follow(v Verdict, now time.Time) {
	n.Need, n.Note, n.Judged = v.Need, v.Note, &v.Judgement
	switch {
	case v.Over:
		n.Is, n.Final = entry.Over, entry.Failed
	case v.Split || v.Backoff > 0:
		n.Is, n.Until, n.Split = entry.Waits, now.Add(v.Backoff), v.Split
	default:
		n.Is = entry.Again
	}
}
