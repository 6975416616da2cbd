package intake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// NewJob is one job to enqueue. Index is its place in the task, from 0.
type NewJob struct {
	Task        int64
	Share       shares.ShareID
	Shape       int32
	Priority    int
	MaxAttempts int
	Index       int64
	Inputs      []string
	FirstEvent  int64
	Events      int64   // 0: it has none, or does not say how many
	RetryOf     int64   // the job whose piece this one tries again; 0: none
	Claims      []int64 // that it holds while it runs, from MakeClaims
}

// alike is what the jobs of a block have in common.
type alike struct {
	task        int64
	share       shares.ShareID
	shape       int32
	priority    int
	maxAttempts int
	again       bool
}

func (j *NewJob) alike() alike {
	return alike{j.Task, j.Share, j.Shape, j.Priority, j.MaxAttempts, j.RetryOf != 0}
}

// block is jobs of a call that are alike: they have ids that follow each other.
type block struct {
	alike
	jobs int64
	low  int64
	next int64          // id of the next of its jobs, while ids are given
	hold []entry.Joined // runs of its jobs that hold the same claims
}

// Enqueue makes jobs and returns their ids in the order of jobs. It is part of the caller's transaction, which holds the rows of
// their tasks: nobody sees the jobs before its commit, and a rollback leaves nothing. Ids of one call follow each other, jobs that
// are alike in the order of the call. The jobs are ready when the leader has read the outbox, unless their task is paused.
// A share or a shape that does not exist is an error.
func Enqueue(ctx context.Context, tx pgx.Tx, jobs []NewJob) (ids []int64, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	if err := checkJobs(jobs); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	of, blocks := arrange(jobs)
	b, err := begin(ctx, tx, len(jobs), blocks)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	ids = number(jobs, of, blocks, b.First)
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, newJobRows(jobs, ids), query["copy_jobs"]); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if _, err := tx.Exec(ctx, query["add_blocks"], blockArgs(blocks, b.Since)); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if err := Say(ctx, tx, announce(blocks, b)); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return ids, nil
}

func checkJobs(jobs []NewJob) error {
	for i := range jobs {
		j := &jobs[i]
		switch {
		case j.Task < 1:
			return job.Wrong(fmt.Sprintf("jobs[%d].task", i), j.Task, "the id of a task, from 1")
		case j.MaxAttempts < 1 || j.MaxAttempts > math.MaxInt32:
			return job.Wrong(fmt.Sprintf("jobs[%d].max_attempts", i), j.MaxAttempts, "a whole number from 1")
		case j.Priority < math.MinInt32 || j.Priority > math.MaxInt32:
			return job.Wrong(fmt.Sprintf("jobs[%d].priority", i), j.Priority, "a number of 32 bits")
		}
	}
	return nil
}

// arrange finds the blocks of a call, by their first jobs, and which block each job is of.
func arrange(jobs []NewJob) (of []int32, blocks []block) {
	of = make([]int32, len(jobs))
	known := map[alike]int32{}
	for i := range jobs {
		if i > 0 && jobs[i].alike() == blocks[of[i-1]].alike { // neighbours nearly always are
			of[i] = of[i-1]
		} else {
			a := jobs[i].alike()
			at, ok := known[a]
			if !ok {
				at = int32(len(blocks))
				known[a], blocks = at, append(blocks, block{alike: a})
			}
			of[i] = at
		}
		blocks[of[i]].jobs++
	}
	return of, blocks
}

// begun is what new jobs follow from.
type begun struct {
	First  int64
	Since  time.Time                        // when they are made
	Agings map[shares.ShareID]*shares.Aging // of the shares that have one
	Users  map[int64]string                 // of tasks
}

// begin takes the ids, and reads the plans of shares as they stay until the transaction ends.
func begin(ctx context.Context, tx pgx.Tx, jobs int, blocks []block) (b begun, err error) {
	if err := steady(ctx, tx); err != nil {
		return b, err
	}
	distinct := func(values []int32) []int32 { slices.Sort(values); return slices.Compact(values) }
	ofShares := distinct(list(blocks, func(b block) int32 { return int32(b.share) }))
	shapes := distinct(list(blocks, func(b block) int32 { return b.shape }))
	err = tx.QueryRow(ctx, query["begin_jobs"], pgx.StrictNamedArgs{"n": jobs, "shares": ofShares, "shapes": shapes,
		"tasks": list(blocks, func(b block) int64 { return b.task })}).Scan(&b.First, &b.Since, &b.Agings, &b.Users)
	if errors.Is(err, pgx.ErrNoRows) {
		return b, fmt.Errorf("one of the shares %v or shapes %v does not exist", ofShares, shapes)
	}
	return b, err
}

// number gives the jobs their ids, block after block.
func number(jobs []NewJob, of []int32, blocks []block, first int64) (ids []int64) {
	for i := range blocks {
		blocks[i].low, blocks[i].next = first, first
		first += blocks[i].jobs
	}
	ids = make([]int64, len(jobs))
	for i := range jobs {
		b := &blocks[of[i]]
		ids[i] = b.next
		b.next++
		claims := jobs[i].Claims
		if len(claims) == 0 {
			continue
		}
		if k := len(b.hold) - 1; k >= 0 && b.hold[k].High == ids[i]-1 && slices.Equal(b.hold[k].Claims, claims) {
			b.hold[k].High = ids[i]
			continue
		}
		b.hold = append(b.hold, entry.Joined{Task: b.task, Low: ids[i], High: ids[i], Claims: claims})
	}
	return ids
}

func blockArgs(blocks []block, since time.Time) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"made_at": since,
		"lows":         list(blocks, func(b block) int64 { return b.low }),
		"highs":        list(blocks, func(b block) int64 { return b.low + b.jobs - 1 }),
		"tasks":        list(blocks, func(b block) int64 { return b.task }),
		"shares":       list(blocks, func(b block) int32 { return int32(b.share) }),
		"shapes":       list(blocks, func(b block) int32 { return b.shape }),
		"priorities":   list(blocks, func(b block) int32 { return int32(b.priority) }),
		"max_attempts": list(blocks, func(b block) int32 { return int32(b.maxAttempts) }),
		"agains":       list(blocks, func(b block) bool { return b.again })}
}

// announce says that the jobs of blocks are there: first which claims they hold.
func announce(blocks []block, b begun) (entries []entry.Entry) {
	for i := range blocks {
		for _, j := range blocks[i].hold {
			entries = append(entries, j)
		}
	}
	for _, of := range blocks {
		entries = append(entries, entry.Enqueued{Task: of.task, Share: of.share, Shape: of.shape, Low: of.low, High: of.low + of.jobs - 1,
			Place: b.Agings[of.share].Place(of.priority, b.Since), Attempt: 1, User: b.Users[of.task]})
	}
	return entries
}
