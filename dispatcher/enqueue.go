package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Intern returns the id of the shape with these requirements, making it when it is new.
func Intern(ctx context.Context, tx pgx.Tx, r Requirements) (shape int32, err error) {
	if r.Cores < 1 {
		return 0, &FieldError{Field: "requirements.cores", Value: r.Cores, Want: "a whole number from 1"}
	}
	return intern(ctx, tx, r)
}

func intern(ctx context.Context, tx pgx.Tx, r Requirements) (shape int32, err error) {
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	if r.Resources = maps.Collect(unitsOf(r)); len(r.Resources) == 0 {
		r.Resources = nil // so that the shapes of before resources are the same
		if r.Claims == nil || len(r.Claims.Resources) == 0 {
			r.SharingID = ""
		}
	}
	r.Queues = slices.Sorted(slices.Values(r.Queues))
	canonical, err := json.Marshal(r) // maps are written in key order
	if err != nil {
		return 0, fmt.Errorf("shape: %w", err)
	}
	key := sha256.Sum256(canonical)
	resources := r.Resources
	if resources == nil {
		resources = map[string]int64{}
	}
	args := pgx.StrictNamedArgs{
		"key": key[:], "cores": r.Cores, "memory_mb": r.MemoryMB, "disk_mb": r.DiskMB, "walltime_s": r.WalltimeS,
		"labels": r.Labels, "queues": append([]string{}, r.Queues...), "label": r.Label,
		"resources": resources, "sharing_id": r.SharingID, "claims": r.Claims,
	}
	if err := tx.QueryRow(ctx, query["intern"], args).Scan(&shape); err != nil {
		return 0, fmt.Errorf("shape: %w", err)
	}
	return shape, nil
}

// unitsOf are the resources of which jobs need some units.
func unitsOf(r Requirements) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for ref, units := range r.Resources {
			if units > 0 && !yield(ref, units) {
				return
			}
		}
	}
}

// AddPayload stores what the jobs of a task run; once a task, before its first job.
func AddPayload(ctx context.Context, tx pgx.Tx, p Payload) error {
	if err := p.Check(); err != nil {
		return err
	}
	env, matrix := p.Env, p.Matrix
	if env == nil {
		env = map[string]string{}
	}
	if matrix == nil {
		matrix = []Axis{}
	}
	args := pgx.StrictNamedArgs{"task": p.Task, "command": p.Command, "env": env, "matrix": matrix, "roles": p.Roles}
	if _, err := tx.Exec(ctx, query["add_payload"], args); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	return nil
}

// placing is what the places of jobs in the ready order follow from, beside their priority.
type placing struct {
	since  time.Time                        // when they became ready
	agings map[shares.ShareID]*shares.Aging // of the shares that have one
}

// of is the job's place in the ready order: higher priorities first, then the older id; with aging the older job sooner.
func (p placing) of(j *NewJob) int64 {
	if len(p.agings) == 0 {
		return -int64(j.Priority)
	}
	return p.agings[j.Share].Place(j.Priority, p.since)
}

// Enqueue makes ready jobs and returns their ids in the order of jobs. It is part of the caller's transaction:
// nobody sees the jobs before its commit, and a rollback leaves nothing. A share or a shape that does not exist is
// an error: new_ids looks at each of them once. As foreign keys they were two triggers a job, which took 8 of the
// 11.8 µs of PostgreSQL's time that a job cost.
func Enqueue(ctx context.Context, tx pgx.Tx, jobs []NewJob) (ids []int64, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	ids, places, err := newIDs(ctx, tx, jobs)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, newJobRows(jobs, ids, places), query["copy_jobs"]); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if err := record(ctx, tx, enqueueMoves(jobs, ids, places)); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return ids, nil
}

// newIDs takes an id for every job, and reads what their places follow from: the caller holds barrierShared, so the
// plans stay as they are. Ids rise, and have gaps only where others take ids at the same moment.
func newIDs(ctx context.Context, tx pgx.Tx, jobs []NewJob) (ids []int64, places placing, err error) {
	var ofShares, shapes []int32
	for i, j := range jobs {
		if i == 0 || j.Share != jobs[i-1].Share {
			ofShares = append(ofShares, int32(j.Share))
		}
		if i == 0 || j.Shape != jobs[i-1].Shape {
			shapes = append(shapes, j.Shape)
		}
	}
	args := pgx.StrictNamedArgs{"n": len(jobs), "shares": ofShares, "shapes": shapes}
	if err := tx.QueryRow(ctx, query["new_ids"], args).Scan(&ids, &places.since, &places.agings); err != nil {
		return nil, places, err
	}
	if len(ids) != len(jobs) {
		return nil, places, fmt.Errorf("one of the shares %v or shapes %v does not exist", ofShares, shapes)
	}
	return ids, places, nil
}

// enqueueMoves groups neighbours that are alike, so that a batch of one task is one move.
func enqueueMoves(jobs []NewJob, ids []int64, places placing) []move {
	var moves []move
	for i, j := range jobs {
		m := move{Task: j.Task, Share: j.Share, Shape: j.Shape, Before: isNone, After: isReady, N: 1,
			Place: places.of(&jobs[i]), Low: ids[i], High: ids[i]}
		if k := len(moves) - 1; k >= 0 && alike(moves[k], m) {
			moves[k].N++
			moves[k].High = m.High
			continue
		}
		moves = append(moves, m)
	}
	return moves
}

func alike(a, b move) bool {
	return a.Task == b.Task && a.Share == b.Share && a.Shape == b.Shape && a.Queue == b.Queue &&
		a.Before == b.Before && a.After == b.After && a.Place == b.Place
}
