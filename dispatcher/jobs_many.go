package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/access"
)

// lastRow is a job with its running or last attempt.
type lastRow struct {
	listRow
	LastAttempt int
	Node        string
	LastState   string
	ClaimedAt   *time.Time
	StartedAt   *time.Time
	LastEndedAt *time.Time
	ExitCode    *int
	Message     string
	CPUS        float64
	MemoryMB    int64
	Outputs     map[string]any
	Report      map[string]any
}

func (d *Dispatcher) lastJob(r lastRow) JobRow {
	j := d.jobRow(r.listRow)
	if r.LastAttempt > 0 {
		j.Attempts = []Attempt{{Attempt: r.LastAttempt, Queue: r.Queue, Pilot: r.Pilot, Node: r.Node, State: r.LastState,
			ClaimedAt: *r.ClaimedAt, StartedAt: r.StartedAt, EndedAt: r.LastEndedAt, ExitCode: r.ExitCode, Message: r.Message,
			Usage: Usage{CPUSeconds: r.CPUS, MemoryMB: r.MemoryMB}, Outputs: r.Outputs, Report: r.Report}}
	}
	return j
}

// JobsByID returns the jobs that there are among ids, by rising id, in one statement. Attempts holds the running or the
// last attempt only, and its report is without metaData.
func (d *Dispatcher) JobsByID(ctx context.Context, ids []int64) ([]JobRow, error) {
	rows, err := collect[lastRow](ctx, d.cfg.Pool, "jobs_by_id", pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	jobs := make([]JobRow, len(rows))
	for i, r := range rows {
		jobs[i] = d.lastJob(r)
	}
	return jobs, nil
}

// JobIDs returns the ids of jobs of a task, rising, at most Limit.
func (d *Dispatcher) JobIDs(ctx context.Context, c JobChoice) ([]int64, error) {
	args := pgx.StrictNamedArgs{"task": c.Task, "live": c.Live, "ended": append([]string{}, c.Ended...), "n": c.Limit}
	rows, err := d.cfg.Pool.Query(ctx, query["job_ids"], args)
	if err != nil {
		return nil, fmt.Errorf("job ids: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("job ids: %w", err)
	}
	return ids, nil
}

// Metadata returns what payloads of a task's finished jobs reported, of at most n jobs by rising id behind after.
func (d *Dispatcher) Metadata(ctx context.Context, task, after int64, n int) ([]JobMetadata, error) {
	return collect[JobMetadata](ctx, d.cfg.Pool, "job_metadata", pgx.StrictNamedArgs{"task": task, "after": after, "n": n})
}

// mostKilled is how many jobs are locked and cancelled in one transaction.
const mostKilled = 1000

// KillJobs ends jobs that nobody wants any more, as KillJob does one, a thousand in a transaction. It returns those that
// were live, rising; where it fails, those before that are killed.
func (d *Dispatcher) KillJobs(ctx context.Context, ids []int64) (killed []int64, err error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for some := range slices.Chunk(ids, mostKilled) {
		var c cancelled
		err := pgx.BeginFunc(ctx, d.cfg.Pool, func(tx pgx.Tx) (err error) {
			if c, err = cancelJobs(ctx, tx, some, "killed"); err != nil {
				return err
			}
			changes := make([]access.Change, len(c.found))
			for i, id := range c.found {
				changes[i] = access.Change{What: "job.kill", Object: strconv.FormatInt(id, 10), Before: "live", After: "killed"}
			}
			return access.Record(ctx, tx, changes...)
		})
		if err != nil {
			return killed, fmt.Errorf("kill: %w", err)
		}
		killed = append(killed, c.found...)
	}
	return killed, nil
}
