package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// Intern returns the id of the shape with these requirements, making it when it is new. Locations without a locality, or
// the other way round, mean nothing: they are left out.
func Intern(ctx context.Context, tx pgx.Tx, r job.Requirements) (shape int32, err error) {
	if r.Cores < 1 {
		return 0, &job.FieldError{Field: "requirements.cores", Value: r.Cores, Want: "a whole number from 1"}
	}
	if r.Locality != "" && r.Locality != job.LocalityRequired && r.Locality != job.LocalityPreferred {
		return 0, &job.FieldError{Field: "requirements.locality", Value: r.Locality, Want: "required or preferred, or none"}
	}
	return intern(ctx, tx, r)
}

// InternAll is Intern for many, with one look for all that are the same.
func InternAll(ctx context.Context, tx pgx.Tx, all []job.Requirements) (shapes []int32, err error) {
	shapes = make([]int32, len(all))
	known := map[string]int32{}
	for i, r := range all {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
		id, ok := known[string(text)]
		if !ok {
			if id, err = Intern(ctx, tx, r); err != nil {
				return nil, err
			}
			known[string(text)] = id
		}
		shapes[i] = id
	}
	return shapes, nil
}

func intern(ctx context.Context, tx pgx.Tx, r job.Requirements) (shape int32, err error) {
	user := r.User
	r.User = ""
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	if r.Resources = maps.Collect(r.Units()); len(r.Resources) == 0 {
		r.Resources = nil // so that the shapes of before resources are the same
		if r.Claims == nil || len(r.Claims.Resources) == 0 {
			r.SharingID = ""
		}
	}
	r.Queues = slices.Sorted(slices.Values(r.Queues))
	r.Locations = slices.Compact(slices.Sorted(slices.Values(r.Locations)))
	if len(r.Locations) == 0 || r.Locality == "" {
		r.Locations, r.Locality = nil, ""
	}
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
		"locations": r.Locations, "locality": r.Locality,
	}
	if err := tx.QueryRow(ctx, query["intern"], args).Scan(&shape); err != nil {
		return 0, fmt.Errorf("shape: %w", err)
	}
	if user != "" {
		return ofUser(ctx, tx, shape, user)
	}
	return shape, nil
}

// AddPayload stores what the jobs of tasks run; once a task, before its first job.
func AddPayload(ctx context.Context, tx pgx.Tx, payloads ...Payload) error {
	type row struct {
		Task    int64               `json:"task_id"`
		Command []string            `json:"command"`
		Env     map[string]string   `json:"env"`
		Matrix  []Axis              `json:"matrix"`
		Roles   map[string][]string `json:"roles,omitempty"`
		Retry   *retry.Terms        `json:"retry,omitempty"`
	}
	rows := make([]row, len(payloads))
	for i, p := range payloads {
		if err := p.Check(); err != nil {
			return err
		}
		rows[i] = row{Task: p.Task, Command: p.Command, Env: p.Env, Matrix: p.Matrix, Roles: p.Roles, Retry: p.Retry}
		if p.Env == nil {
			rows[i].Env = map[string]string{}
		}
		if p.Matrix == nil {
			rows[i].Matrix = []Axis{}
		}
	}
	if _, err := tx.Exec(ctx, query["add_payload"], pgx.StrictNamedArgs{"payloads": rows}); err != nil {
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
	b, err := begin(ctx, tx, jobs)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if jobs, err = b.shaped(ctx, tx, jobs); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, newJobRows(jobs, b.ids, b.placing), query["copy_jobs"]); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if err := rangesOf(jobs, b.ids, b.placing).note(ctx, tx); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if err := record(ctx, tx, enqueueMoves(jobs, b.ids, b.placing)); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return b.ids, nil
}

// begun is what new jobs follow from.
type begun struct {
	ids []int64
	placing
	byShare
}

// idBlock is how many ids of jobs one step of their sequence is: its increment.
const idBlock = 16

// begin takes an id for every job, and reads what their places and shapes follow from: the caller holds barrierShared, so the
// plans stay as they are. Ids rise, and have gaps only where others take ids at the same moment, and at the end.
func begin(ctx context.Context, tx pgx.Tx, jobs []NewJob) (b begun, err error) {
	var ofShares, shapes []int32
	for i, j := range jobs {
		if i == 0 || j.Share != jobs[i-1].Share {
			ofShares = append(ofShares, int32(j.Share))
		}
		if i == 0 || j.Shape != jobs[i-1].Shape {
			shapes = append(shapes, j.Shape)
		}
	}
	blocks := (len(jobs) + idBlock - 1) / idBlock
	args := pgx.StrictNamedArgs{"blocks": blocks, "shares": ofShares, "shapes": shapes}
	var firsts []int64
	if err := tx.QueryRow(ctx, query["new_ids"], args).Scan(&firsts, &b.since, &b.agings, &b.fair, &b.ofUsers, nil); err != nil {
		return b, err
	}
	if len(firsts) != blocks {
		return b, fmt.Errorf("one of the shares %v or shapes %v does not exist", ofShares, shapes)
	}
	b.ids = make([]int64, len(jobs))
	for i := range b.ids {
		b.ids[i] = firsts[i/idBlock] + int64(i%idBlock)
	}
	return b, nil
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
