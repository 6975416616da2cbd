package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
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
		j.cfg.Judged(v.Judgement)
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
