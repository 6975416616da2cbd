package rules

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// jobFacts is what was said of a job when it was made.
type jobFacts struct {
	Job         int64
	Low         int64 // of its block
	High        int64
	MaxAttempts int32
	MadeAt      time.Time
	Terms       *policy.Terms // of its task; nil: none
}

// attempt is one that was charged and did not finish, or that was returned.
type attempt struct {
	Job      int64
	Attempt  int32
	Outcome  string // a letter, as the log has it
	ExitCode int32
	MemoryMB int64
	Queue    shares.QueueID
	TookS    float64
	Message  string
	Report   map[string]any
}

// shapeNeed is what a shape stands for.
type shapeNeed struct {
	Shape int32
	Need  job.Requirements
}

// tried reads what is known of some jobs. One of which something is missing is left out.
func (j *judging) tried(ctx context.Context, jobs []waiting) (map[int64]*retry.Tried, error) {
	ids := make([]int64, len(jobs))
	for i, w := range jobs {
		ids[i] = w.Job
	}
	facts, err := pg.Collect[jobFacts](ctx, j.tx, query["facts"], args{"jobs": ids})
	if err != nil || len(facts) == 0 {
		return nil, err
	}
	since := facts[0].MadeAt
	for _, f := range facts {
		if f.MadeAt.Before(since) {
			since = f.MadeAt
		}
	}
	list, err := pg.Collect[attempt](ctx, j.tx, query["tried"], args{"jobs": ids, "since": since})
	if err != nil {
		return nil, err
	}
	shapes, err := pg.Collect[shapeNeed](ctx, j.tx, query["needs"], pg.Columns(jobs))
	if err != nil {
		return nil, err
	}
	needs := map[int32]job.Requirements{}
	for _, s := range shapes {
		needs[s.Shape] = s.Need
	}
	found := map[int64]*retry.Tried{}
	for _, f := range facts {
		found[f.Job] = &retry.Tried{Terms: f.Terms, Most: f.MaxAttempts}
	}
	for i := range list {
		if t := found[list[i].Job]; t != nil {
			list[i].addTo(t)
		}
	}
	for i := range jobs {
		need, ok := needs[jobs[i].Shape]
		if t := found[jobs[i].Job]; t != nil && ok && len(t.Attempts) > 0 {
			t.Need = need
		} else {
			delete(found, jobs[i].Job)
		}
	}
	return found, nil
}

// addTo adds the next attempt of a job. One that was returned was not charged: the job may have one more.
func (a *attempt) addTo(t *retry.Tried) {
	t.Number = a.Attempt
	said := entry.Outcome(a.Outcome[0])
	if said == entry.Returned {
		t.Most++
		return
	}
	f := policy.Failure{Outcome: outcomeWords[said], Message: a.Message, Report: a.Report, MemoryMB: a.MemoryMB, Took: retry.Took(a.TookS)}
	if code := int(a.ExitCode); code != 0 {
		f.ExitCode = &code
	}
	t.Attempts = append(t.Attempts, retry.Attempt{Failure: f, Queue: a.Queue})
}

// outcomeWords are the outcomes as rules name them.
var outcomeWords = map[entry.Outcome]string{entry.Failed: policy.Failed, entry.Lost: policy.Lost, entry.Cancelled: "cancelled"}
