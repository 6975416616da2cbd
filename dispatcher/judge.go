package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
	retrypolicy "github.com/divvyhq/divvy/shares/retry"
)

// judgeBatch and judgeRounds bound one Judge: jobs of a transaction, and transactions.
const (
	judgeBatch  = 200
	judgeRounds = 50
)

// Judge says what becomes of jobs whose last attempt failed or was lost, where a rule of the site or the terms of their task
// have a say in it (package retry): they are ready again, now or when their backoff is over, maybe in another shape, or they
// fail for good. It returns how many jobs it judged or made ready.
func (d *Dispatcher) Judge(ctx context.Context) (n int, err error) {
	var due bool
	if err := d.cfg.Pool.QueryRow(ctx, query["any_due_retry"]).Scan(&due); err != nil || !due {
		return 0, wrapJudge(err)
	}
	for range judgeRounds {
		var did int
		err := pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) (err error) {
			j := judging{d: d, tx: tx, site: retry.Site{Policy: d.attempts.Load(), Now: d.clock(), Queues: d.siteQueues()}}
			did, err = j.batch(ctx)
			return err
		})
		if n += did; err != nil || did < judgeBatch {
			return n, wrapJudge(err)
		}
	}
	return n, nil
}

func wrapJudge(err error) error {
	if err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

// judging is one transaction of Judge.
type judging struct {
	d    *Dispatcher
	tx   pgx.Tx
	site retry.Site

	again again
	fails []int64
	notes notes
	moves []move
}

// dueRetry is a row of retries whose time has come.
type dueRetry struct {
	JobID   int64
	Attempt int
	Judged  bool
}

// retriedJob is its job, locked.
type retriedJob struct {
	ID        int64
	TaskID    int64
	ShareID   shares.ShareID
	ShapeID   int32
	Place     int64
	Attempt   int
	State     string
	Claims    []int64
	CreatedAt time.Time
	Terms     *retrypolicy.Terms
}

// batch serves the next jobs that are due. The rows of retries are locked first: they are nobody's but Judge's, so that
// whoever holds one waits for jobs only, as everybody does.
func (j *judging) batch(ctx context.Context) (n int, err error) {
	if err := barrierShared(ctx, j.tx); err != nil {
		return 0, err
	}
	due, err := collect[dueRetry](ctx, j.tx, "due_retries", pgx.StrictNamedArgs{"n": judgeBatch})
	if err != nil || len(due) == 0 {
		return 0, err
	}
	ids := make([]int64, len(due))
	for i, r := range due {
		ids[i] = r.JobID
	}
	jobs, err := collect[retriedJob](ctx, j.tx, "lock_retried_jobs", pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return 0, err
	}
	if err := j.drop(ctx, due, jobs); err != nil {
		return 0, err
	}
	if err := j.decide(ctx, due, jobs); err != nil {
		return 0, err
	}
	return len(due), j.write(ctx)
}

// drop forgets rows whose jobs are over, or are not waiting any more.
func (j *judging) drop(ctx context.Context, due []dueRetry, jobs []retriedJob) error {
	waits := make(map[int64]int, len(jobs))
	for _, job := range jobs {
		if job.State == "waiting" {
			waits[job.ID] = job.Attempt
		}
	}
	var gone []int64
	for _, r := range due {
		if waits[r.JobID] != r.Attempt+1 {
			gone = append(gone, r.JobID)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := j.tx.Exec(ctx, query["drop_retries"], pgx.StrictNamedArgs{"ids": gone})
	return err
}

// decide judges those jobs that were not judged yet; the others have waited and are ready.
func (j *judging) decide(ctx context.Context, due []dueRetry, jobs []retriedJob) error {
	rows := make(map[int64]dueRetry, len(due))
	for _, r := range due {
		rows[r.JobID] = r
	}
	tried, err := j.tried(ctx, jobs)
	if err != nil {
		return err
	}
	for i := range jobs {
		job := &jobs[i]
		r := rows[job.ID]
		switch attempts := tried[job.ID]; {
		case job.State != "waiting" || job.Attempt != r.Attempt+1: // dropped
		case r.Judged || len(attempts) == 0:
			j.ready(job, job.ShapeID)
		default:
			if err := j.judge(ctx, job, attempts); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge decides about one job by its attempts.
func (j *judging) judge(ctx context.Context, job *retriedJob, attempts []triedAttempt) error {
	need, err := j.d.fullNeed(ctx, job.ShapeID)
	if err != nil {
		return err
	}
	tried := retry.Tried{Need: need, Attempts: make([]retry.Attempt, len(attempts))}
	if job.Terms != nil {
		tried.Terms = *job.Terms
	}
	for i := range attempts {
		tried.Attempts[i] = attempts[i].attempt()
	}
	v := retry.Judge(tried, j.site)
	j.d.metrics.judged(v.Judgement)
	j.notes.add(&attempts[len(attempts)-1], v.Note)
	shape := job.ShapeID
	if v.Need != nil {
		if shape, err = Intern(ctx, j.tx, *v.Need); err != nil {
			return err
		}
	}
	switch {
	case v.Over:
		j.fails = append(j.fails, job.ID)
		j.moves = append(j.moves, move{Task: job.TaskID, Share: job.ShareID, Shape: job.ShapeID, Before: isWaiting, After: isFailed, N: 1})
	case v.Split:
		j.split(job, v.Backoff)
	case v.Backoff > 0:
		j.wait(job, shape, v.Backoff)
	default:
		j.ready(job, shape)
	}
	return nil
}

// write brings all of it to the tables, and to the ledger last: the row of its lane is a lock.
func (j *judging) write(ctx context.Context) error {
	for _, st := range []statement{{"note_judgements", j.notes.args()}, {"try_again", j.again.args()}, {"fail_jobs", j.failArgs()}} {
		if st.args == nil {
			continue
		}
		if _, err := j.tx.Exec(ctx, query[st.verb], st.args); err != nil {
			return fmt.Errorf("%s: %w", st.verb, err)
		}
	}
	return record(ctx, j.tx, j.moves)
}

func (j *judging) failArgs() pgx.StrictNamedArgs {
	if len(j.fails) == 0 {
		return nil
	}
	return pgx.StrictNamedArgs{"ids": j.fails}
}
