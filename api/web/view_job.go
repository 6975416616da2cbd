package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/generator/view"
)

// JobPage is a job: its attempts, what they wrote, and why it waits or runs.
type JobPage struct {
	AsOf
	Job     dispatcher.JobRow      `json:"job"`
	Failure *Failure               `json:"failure,omitempty"` // of a job that failed, or is to be tried again
	Moves   []Moment               `json:"timeline"`
	Explain dispatcher.Explanation `json:"explain"` // at most some seconds old; its at says
	Attempt int                    `json:"log_attempt,omitempty"`
	Log     string                 `json:"log"`                // end of what that attempt wrote
	Live    bool                   `json:"log_live,omitempty"` // it still runs
	Asked   asked                  `json:"-"`
}

// Heading is the job's number.
func (j JobPage) Heading() string { return fmt.Sprintf("Job %d", j.Job.ID) }

func (w *work) jobPage(ctx context.Context, r *Request) (Dated, error) {
	id, err := r.id("job")
	if err != nil {
		return nil, err
	}
	a := askedOf(r)
	attempt := int(a.number("attempt", 1, 1_000_000, 0))
	if err := a.err(); err != nil {
		return nil, err
	}
	out := JobPage{AsOf: Now(), Asked: a}
	if out.Job, err = w.dispatcher.Job(ctx, id); err != nil {
		return nil, err
	}
	out.Moves = jobMoves(out.Job)
	if out.Explain, err = w.explained(ctx, out.Job); err != nil {
		return nil, err
	}
	for _, t := range out.Job.Attempts {
		if attempt == 0 || attempt == t.Attempt {
			out.Attempt = t.Attempt
		}
	}
	if attempt != 0 && out.Attempt == 0 {
		return nil, fmt.Errorf("%w: there is no attempt %d of job %d", lookup.ErrNoAttempt, attempt, id)
	}
	if t := out.running(); t != nil && t.Attempt == out.Attempt {
		out.Live, out.Log = true, w.dispatcher.Output(ctx, id, *t)
	} else if out.Attempt != 0 {
		out.Log, err = w.dispatcher.JobLog(ctx, id, out.Attempt)
		if err != nil && !errors.Is(err, lookup.ErrNoAttempt) {
			return nil, err
		}
	}
	out.Failure = w.failed(ctx, out)
	return out, nil
}

// Failure is the attempt that did not do its work, before all else that is known of its job.
type Failure struct {
	Attempt  dispatcher.Attempt `json:"attempt"`
	Tail     string             `json:"tail"`     // the last lines that it wrote
	Siblings view.JobCounts     `json:"siblings"` // the jobs of its task, with its own
}

// failureLines are shown of what a failed attempt wrote; the rest is further down.
const failureLines = 12

// failed is how the last attempt failed; nil: it did not, or another one has begun.
func (w *work) failed(ctx context.Context, p JobPage) *Failure {
	n := len(p.Job.Attempts)
	if n == 0 || p.Job.Attempts[n-1].State != string(dispatcher.Failed) && p.Job.Attempts[n-1].State != string(dispatcher.Lost) {
		return nil
	}
	f := &Failure{Attempt: p.Job.Attempts[n-1]}
	if f.Attempt.Attempt == p.Attempt {
		lines := strings.Split(strings.TrimRight(p.Log, "\n"), "\n")
		f.Tail = strings.Join(lines[max(0, len(lines)-failureLines):], "\n")
	}
	if t, err := w.tasks.Task(ctx, p.Job.Task); err == nil { // of a task that was deleted nothing is said
		f.Siblings = t.Jobs
	}
	return f
}

// How is its end in a few words.
func (f *Failure) How() string {
	switch a := f.Attempt; {
	case a.State == string(dispatcher.Lost):
		return "lost: its pilot renewed the lease no more"
	case a.ExitCode != nil:
		return fmt.Sprintf("failed with exit code %d", *a.ExitCode)
	}
	return "failed"
}

// explained is an explanation that is some seconds old at the most, and of the job's present state.
func (w *work) explained(ctx context.Context, job dispatcher.JobRow) (dispatcher.Explanation, error) {
	ask := func() (dispatcher.Explanation, error) { return w.dispatcher.Explain(ctx, job.ID) }
	e, err := w.explains.get(job.ID, ask)
	if err == nil && (e.State != job.State || e.Decision != nil && e.Decision.Attempt != job.Attempt) {
		return ask()
	}
	return e, err
}

// jobMoves is the life of a job so far.
func jobMoves(j dispatcher.JobRow) (all []Moment) {
	all = append(all, Moment{At: j.CreatedAt, What: "made", Kind: "waiting"})
	for _, a := range j.Attempts {
		n := fmt.Sprintf("attempt %d ", a.Attempt)
		all = append(all, Moment{At: a.ClaimedAt, What: n + "got a slot of " + a.Queue, Kind: "leased"})
		if a.StartedAt != nil {
			all = append(all, Moment{At: *a.StartedAt, What: n + "started", Kind: "running"})
		}
		if a.EndedAt != nil {
			what := n + a.State
			if a.ExitCode != nil {
				what += ", exit code " + strconv.Itoa(*a.ExitCode)
			}
			all = append(all, Moment{At: *a.EndedAt, What: what, Kind: a.State})
		}
	}
	if j.TryAt != nil {
		all = append(all, Moment{At: *j.TryAt, What: "tried again", Kind: "ready", Open: true})
	}
	if j.EndedAt != nil {
		all = append(all, Moment{At: *j.EndedAt, What: "the job is " + j.State, Kind: j.State})
	}
	return timed(all)
}

// running is the attempt that runs; nil: none does.
func (j JobPage) running() *dispatcher.Attempt {
	if n := len(j.Job.Attempts); n > 0 && j.Job.Attempts[n-1].EndedAt == nil {
		return &j.Job.Attempts[n-1]
	}
	return nil
}

// reclaimed is what an attempt is ended for when its units go to another share: the job goes on later.
const reclaimed = "reclaimed"

// Killable reports whether the job can be killed: it is not over, and not killed yet.
func (j JobPage) Killable() bool {
	a := j.running()
	return j.Job.EndedAt == nil && (a == nil || a.Ending == "" || a.Ending == reclaimed)
}

// EndingSays returns what becomes of the running attempt if its pilot is told to end it; else empty.
func (j JobPage) EndingSays() string {
	a := j.running()
	switch {
	case a == nil || a.Ending == "":
		return ""
	case a.Ending == reclaimed:
		return fmt.Sprintf("Its units are reclaimed for another share: pilot %s at %s is told to end it with its next renewal. Then it is ready again, and no attempt is charged.", a.Pilot, a.Queue)
	}
	return fmt.Sprintf("It was killed (%s) and still runs: pilot %s at %s is told to end it with its next renewal.", a.Ending, a.Pilot, a.Queue)
}

// Explained says whether there is more to say of why than the sentence at the top: not of a job that ended without a slot.
func (j JobPage) Explained() bool {
	e := j.Explain
	return len(e.Pools) > 0 || len(e.Queues) > 0 || len(e.Claims) > 0 || e.Decision != nil && e.Decision.Attempt > 0
}

// Gates are the queues of a job that waits, those that could never run it only where there are few.
func (j JobPage) Gates() (shown []dispatcher.QueueGate) {
	for _, q := range j.Explain.Queues {
		if (q.Gate != explain.GateStructural || len(j.Explain.Queues) <= 10) && len(shown) < mostGates {
			shown = append(shown, q)
		}
	}
	return shown
}

const mostGates = 100

// Others is how many queues Gates leaves out.
func (j JobPage) Others() int { return len(j.Explain.Queues) - len(j.Gates()) }

// ETA is when it is likely to start, in words.
func (j JobPage) ETA() string {
	e := j.Explain.ETA
	switch {
	case e == nil:
		return ""
	case !e.Known:
		return "unknown"
	case e.AtLeast:
		return "more than " + wholeSeconds(e.Seconds)
	}
	return "in " + wholeSeconds(e.Seconds)
}

// wholeSeconds prints a time as the command line does: whole seconds, the last one begun.
func wholeSeconds(s float64) string {
	n := time.Duration(s * float64(time.Second))
	if whole := n.Truncate(time.Second); whole < n {
		n = whole + time.Second
	}
	return n.String()
}

// skippedSays names the first shares that stood before the winner of a decision.
func skippedSays(list []dispatcher.Skipped) string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = s.Share + " (" + s.Reason + ")"
	}
	return strings.Join(all, ", ")
}

// figure prints any value as JSON, for outputs and reports, whose shapes are the pilots' business.
func figure(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// JSONLink is the job as JSON.
func (j JobPage) JSONLink() string { return jobLink(j.Job.ID) + "?format=json" }
