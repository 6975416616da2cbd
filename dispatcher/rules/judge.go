package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// judgeBatch and judgeRounds bound one Judge: jobs of a transaction, and transactions of each kind.
const (
	judgeBatch  = 200
	judgeRounds = 50
)

// Judge says what becomes of jobs that wait after an attempt: they are ready again, now or when their backoff is over, maybe in
// another shape, their piece is to be split, or they fail for good. It returns how many jobs it judged or made ready.
func (r *Rules) Judge(ctx context.Context) (n int, err error) {
	for _, page := range []func(*judging, context.Context) (int, error){(*judging).waits, (*judging).due} {
		for range judgeRounds {
			did := 0
			err := pg.InTx(ctx, r.cfg.Pool, func(tx pgx.Tx) (err error) {
				j := &judging{Rules: r, tx: tx}
				did, err = page(j, ctx)
				return err
			})
			if n += did; err != nil {
				return n, fmt.Errorf("judge: %w", err)
			}
			if did < judgeBatch {
				break
			}
		}
	}
	return n, nil
}

// judging is one transaction of Judge.
type judging struct {
	*Rules
	tx   pgx.Tx
	site retry.Site

	rows  [][]entry.Entry
	later []later
	split []intake.Waiting
	notes []note
}

// waiting is a job that waits, as its row of idle_ranges has it, after an attempt.
type waiting struct {
	Job     int64
	Task    int64
	Attempt int32 // that ended
	EndedAt time.Time
	Waits   bool // else it is over, or was tried again
	Share   shares.ShareID
	Shape   int32
	Split   bool // its piece is to be split
	Place   int64
	User    string
}

// later is a job that waits on.
type later struct {
	waiting
	WaitS float64
}

// note is what people read of an attempt.
type note struct {
	waiting
	Note string
}

// cursor is the last attempt that was judged.
type cursor struct {
	At   time.Time
	Job  int64
	Upto time.Time // all ends before that are folded
}

// waits judges the next attempts after which jobs wait. Another daemon that is at it has the cursor: then there is nothing to do.
func (j *judging) waits(ctx context.Context) (n int, err error) {
	at, err := pg.Collect[cursor](ctx, j.tx, query["lock_judged"])
	if err != nil || len(at) == 0 {
		return 0, err
	}
	jobs, err := pg.Collect[waiting](ctx, j.tx, query["waits"], args{"at": at[0].At, "job": at[0].Job, "upto": at[0].Upto, "n": judgeBatch})
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	if j.site, err = j.siteNow(ctx); err != nil {
		return 0, err
	}
	if err := j.judge(ctx, jobs); err != nil {
		return 0, err
	}
	last := jobs[len(jobs)-1]
	if err := exec(ctx, j.tx, "pass_judged", args{"at": last.EndedAt, "job": last.Job}); err != nil {
		return 0, err
	}
	return len(jobs), j.write(ctx)
}

// due makes jobs ready whose time has come.
func (j *judging) due(ctx context.Context) (n int, err error) {
	jobs, err := pg.Collect[waiting](ctx, j.tx, query["due"], args{"n": judgeBatch})
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	for i := range jobs {
		if w := jobs[i]; w.Waits {
			j.next(w)
		}
	}
	if err := exec(ctx, j.tx, "drop_retries", pg.Columns(jobs)); err != nil {
		return 0, err
	}
	return len(jobs), j.write(ctx)
}

// judge decides about those of some jobs that still wait.
func (j *judging) judge(ctx context.Context, jobs []waiting) error {
	tried, err := j.tried(ctx, jobs)
	if err != nil {
		return err
	}
	for i := range jobs {
		if w := &jobs[i]; w.Waits {
			if err := j.one(ctx, w, tried[w.Job]); err != nil {
				return err
			}
		}
	}
	return nil
}

// one decides about a job by its attempts.
func (j *judging) one(ctx context.Context, w *waiting, t *retry.Tried) error {
	if t == nil || t.Number != w.Attempt {
		j.close(w, "failed for good: its block, its shape or its attempts are not in the tables any more") // else it waited for ever
		return nil
	}
	v := retry.Judge(*t, j.site)
	if v.Asked {
		j.cfg.Count(func(t *tally.Tally) { t.Judge(v.Judgement) })
	}
	goes := *w
	if goes.Split = v.Split; v.Need != nil {
		var err error
		if goes.Shape, err = intake.Intern(ctx, j.tx, *v.Need); err != nil {
			return err
		}
	}
	switch {
	case v.Over:
		j.close(w, "")
	case v.Backoff > 0:
		j.later = append(j.later, later{goes, v.Backoff.Seconds()})
	default:
		j.next(goes)
	}
	if v.Note != "" {
		j.notes = append(j.notes, note{*w, v.Note})
	}
	return nil
}

// close has a job fail for good.
func (j *judging) close(w *waiting, why string) {
	j.rows = append(j.rows, []entry.Entry{entry.Closed{Task: w.Task, Low: w.Job, High: w.Job}})
	if why != "" {
		j.notes = append(j.notes, note{*w, why})
	}
}

// next has a job that waits no more be ready, or its piece be split.
func (j *judging) next(w waiting) {
	if w.Split {
		j.split = append(j.split, intake.Waiting{Job: w.Job, Task: w.Task, Shape: w.Shape, Attempt: int(w.Attempt + 1)})
		return
	}
	e := entry.Enqueued{Task: w.Task, Share: w.Share, Shape: w.Shape, Place: w.Place, Low: w.Job, High: w.Job, Attempt: w.Attempt + 1, User: w.User}
	if n := len(j.rows); n > 0 {
		if last, ok := j.rows[n-1][0].(entry.Enqueued); ok && last.High+1 == e.Low {
			low := last.Low
			if last.Low, last.High = e.Low, e.High; last == e { // alike: one range
				e.Low = low
				j.rows[n-1][0] = e
				return
			}
		}
	}
	j.rows = append(j.rows, []entry.Entry{e})
}

// write brings all of it to the tables, and to the outbox last.
func (j *judging) write(ctx context.Context) error {
	if len(j.later) > 0 {
		if err := exec(ctx, j.tx, "add_retries", pg.Columns(j.later)); err != nil {
			return err
		}
	}
	if len(j.notes) > 0 {
		if err := exec(ctx, j.tx, "add_notes", pg.Columns(j.notes)); err != nil {
			return err
		}
	}
	if len(j.split) > 0 {
		if err := intake.AwaitSplit(ctx, j.tx, j.split...); err != nil {
			return err
		}
	}
	return intake.Say(ctx, j.tx, j.rows...)
}

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
