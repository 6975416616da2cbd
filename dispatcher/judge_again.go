package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
	retrypolicy "github.com/divvyhq/divvy/shares/retry"
)

// triedAttempt is an attempt that was charged and did not finish.
type triedAttempt struct {
	JobID    int64
	Attempt  int
	Outcome  string
	ExitCode *int
	Message  string
	MemoryMB int64
	Report   map[string]any
	QueueID  shares.QueueID
	EndedAt  time.Time
	TookS    float64
}

func (a *triedAttempt) attempt() retry.Attempt {
	return retry.Attempt{Queue: a.QueueID, Failure: retrypolicy.Failure{Outcome: a.Outcome, ExitCode: a.ExitCode, Message: a.Message,
		Report: a.Report, MemoryMB: a.MemoryMB, Took: retry.Took(a.TookS)}}
}

// tried reads the attempts of jobs, in their order.
func (j *judging) tried(ctx context.Context, jobs []retriedJob) (map[int64][]triedAttempt, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	since := jobs[0].CreatedAt
	ids := make([]int64, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
		if job.CreatedAt.Before(since) {
			since = job.CreatedAt
		}
	}
	rows, err := collect[triedAttempt](ctx, j.tx, "tried_attempts", pgx.StrictNamedArgs{"ids": ids, "since": since})
	if err != nil {
		return nil, err
	}
	tried := make(map[int64][]triedAttempt, len(jobs))
	for _, r := range rows {
		tried[r.JobID] = append(tried[r.JobID], r)
	}
	return tried, nil
}

// again is what is written of jobs that are tried again.
type again struct {
	ids    []int64
	shapes []int32
	ready  []bool
	waits  []float64 // seconds
	splits []bool    // it waits on to be split
}

func (a *again) args() pgx.StrictNamedArgs {
	if len(a.ids) == 0 {
		return nil
	}
	return pgx.StrictNamedArgs{"ids": a.ids, "shapes": a.shapes, "ready": a.ready, "waits": a.waits, "splits": a.splits}
}

func (a *again) add(job int64, shape int32) {
	a.ids, a.shapes = append(a.ids, job), append(a.shapes, shape)
	a.ready, a.waits, a.splits = append(a.ready, true), append(a.waits, 0), append(a.splits, false)
}

// ready makes a job ready, in a shape.
func (j *judging) ready(job *retriedJob, shape int32) {
	j.again.add(job.ID, shape)
	j.move(job, shape, isReady)
}

// wait has a job wait on, in a shape.
func (j *judging) wait(job *retriedJob, shape int32, d time.Duration) {
	j.again.add(job.ID, shape)
	last := len(j.again.ids) - 1
	j.again.ready[last], j.again.waits[last] = false, d.Seconds()
	j.move(job, shape, isWaiting)
}

// split has a job wait until the generator, which knows what its task is made of, has split its piece.
func (j *judging) split(job *retriedJob, d time.Duration) {
	j.wait(job, job.ShapeID, d)
	j.again.splits[len(j.again.splits)-1] = true
}

// move is what the ledger says of it: nothing where nothing changes. One that is ready stands alone: readers look for it.
func (j *judging) move(job *retriedJob, shape int32, after string) {
	out := move{Task: job.TaskID, Share: job.ShareID, Shape: job.ShapeID, Before: isWaiting, After: after, N: 1}
	if after == isReady {
		out.Place, out.Low, out.High = job.Place, job.ID, job.ID
	}
	switch {
	case shape != job.ShapeID:
		in := out
		out.After, out.Place, out.Low, out.High = isNone, 0, 0, 0
		in.Shape, in.Before = shape, isNone
		j.moves = append(j.moves, out, in)
	case after != isWaiting:
		j.moves = append(j.moves, out)
	}
}

// siteQueues are the queues of the site in force.
func (d *Dispatcher) siteQueues() []shares.Queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.version.Queues
}

// notes is what is written of attempts that were judged.
type notes struct {
	jobs     []int64
	attempts []int32
	ends     []time.Time
	words    []string
}

// add notes what was made of an attempt; nothing of one whose job is tried again as ever.
func (n *notes) add(a *triedAttempt, words string) {
	if words == "" {
		return
	}
	n.jobs, n.attempts = append(n.jobs, a.JobID), append(n.attempts, int32(a.Attempt))
	n.ends, n.words = append(n.ends, a.EndedAt), append(n.words, clean(words))
}

func (n *notes) args() pgx.StrictNamedArgs {
	if len(n.jobs) == 0 {
		return nil
	}
	since := slices.MinFunc(n.ends, time.Time.Compare)
	return pgx.StrictNamedArgs{"jobs": n.jobs, "attempts": n.attempts, "ends": n.ends, "words": n.words, "since": since}
}
