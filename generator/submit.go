package generator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// SubmitRequest asks for one task.
type SubmitRequest struct {
	Spec           spec.Spec
	Strict         bool   // refuse what no queue of the site can run, in place of letting it wait
	IdempotencyKey string // a repeat with the same key and the same Spec gets the same task; "" = none
	// Parameters are what the task was asked for as, where that was not a Spec: a JSON object, kept and shown with the task.
	Parameters json.RawMessage
}

// Bounds of an idempotency key and of parameters, in bytes.
const (
	maxKey        = 200
	maxParameters = 1 << 20
)

// Submit checks and tags a task and stores it: published at once, or submitting when its inputs are streamed.
// Errors: ErrInvalid, ErrNoSite, ErrUntagged, ErrKeyReused, ErrSiteChanged.
func (g *Submissions) Submit(ctx context.Context, req SubmitRequest) (view.Task, error) {
	hash, err := req.check()
	if err != nil {
		return view.Task{}, err
	}
	if id, err := g.byKey(ctx, req.IdempotencyKey, hash); err != nil || id != 0 {
		return g.found(ctx, id, err)
	}
	const tries = 3 // of a site that changes at this moment
	for try := 1; ; try++ {
		id, err := g.submit(ctx, req)
		if errors.Is(err, ErrSiteChanged) && try < tries {
			continue
		}
		if err != nil {
			return view.Task{}, fmt.Errorf("submit: %w", err)
		}
		g.metrics.submitted.Inc()
		g.hint()
		return g.tasks.Task(ctx, id)
	}
}

// check returns the hash of the body, for repeats.
func (req SubmitRequest) check() ([]byte, error) {
	s := &req.Spec
	if s.InputsFile != "" {
		return nil, spec.Invalid("inputs_file", "is read by the client, not by the server", "send inputs_streamed and PUT the inputs")
	}
	if len(req.IdempotencyKey) > maxKey {
		return nil, spec.Invalid("Idempotency-Key", fmt.Sprintf("has more than %d bytes", maxKey), "")
	}
	if len(req.Parameters) > maxParameters {
		return nil, spec.Invalid("parameters", fmt.Sprintf("have %d bytes, more than %d", len(req.Parameters), maxParameters), "")
	}
	for i, n := range s.Needs {
		if n.Name != "" {
			return nil, spec.Invalid(fmt.Sprintf("needs[%d].task", i), "is a name, which only a file of tasks has", "send the id of the task")
		}
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	body, err := s.Canonical()
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(append(body, req.Parameters...))
	return hash[:], nil
}

// byKey finds the task of a key; 0 when there is none. Whoever says so to somebody secures it first (pg.Secure): the commit
// that it stems from may be one that no standby has.
func (g *Submissions) byKey(ctx context.Context, key string, hash []byte) (int64, error) {
	if key == "" {
		return 0, nil
	}
	var id int64
	var same bool
	err := g.cfg.Pool.QueryRow(ctx, query["by_key"], pgx.StrictNamedArgs{"key": key, "body_hash": hash}).Scan(&id, &same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	case !same:
		return 0, ErrKeyReused
	}
	return id, nil
}

// found answers a repeat.
func (g *Submissions) found(ctx context.Context, id int64, err error) (view.Task, error) {
	if err == nil {
		err = pg.Secure(ctx, g.cfg.Pool)
	}
	if err != nil {
		return view.Task{}, fmt.Errorf("submit: %w", err)
	}
	return g.tasks.Task(ctx, id)
}

func (g *Submissions) submit(ctx context.Context, req SubmitRequest) (id int64, err error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("site: %w", err)
	}
	n, err := prepare(st, req)
	if err != nil {
		return 0, err
	}
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		ids, err := insertTasks(ctx, tx, []newTask{n})
		if err == nil {
			id = ids[0]
		}
		return err
	})
	if err == nil && id == 0 { // somebody else was faster
		if id, err = g.byKey(ctx, n.key, n.hash); err == nil {
			err = pg.Secure(ctx, g.cfg.Pool)
		}
	}
	return id, err
}

// newTask is all that goes into a task's row.
type newTask struct {
	spec spec.Spec
	tag  tags.Tag
	key  string
	hash []byte

	parameters json.RawMessage
	queues     []shares.Queue // of the site, to which pieces are fitted
}

// stillLeaf proves that the shares that tasks are about to get were not removed meanwhile. Applying a site file
// takes the same lock for itself.
func stillLeaf(ctx context.Context, tx pgx.Tx, tags ...shares.ShareID) error {
	var ids []int32
	for _, share := range tags {
		if share != 0 && !slices.Contains(ids, int32(share)) {
			ids = append(ids, int32(share))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := pg.LockShared(ctx, tx, pg.LockSite, 0); err != nil {
		return err
	}
	var ok bool
	if err := tx.QueryRow(ctx, query["leaf"], pgx.StrictNamedArgs{"shares": ids}).Scan(&ok); err != nil {
		return err
	}
	if !ok {
		return ErrSiteChanged
	}
	return nil
}

// shareArg and textArg give NULL for what is absent.
func shareArg(id shares.ShareID) *int32 {
	if id == 0 {
		return nil
	}
	n := int32(id)
	return &n
}

func textArg(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Commit publishes a task whose inputs were streamed; a repeat changes nothing. Errors: ErrNoTask, ErrState,
// ErrInvalid when it has no inputs or makes too many jobs.
func (g *Submissions) Commit(ctx context.Context, id int64) (view.Task, error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return view.Task{}, fmt.Errorf("commit: site: %w", err)
	}
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		t, err := lockTask(ctx, tx, id)
		if err != nil || t.Committed {
			return err
		}
		switch {
		case t.State != "submitting":
			return &judge.StateError{Task: id, Verb: "commit", State: t.State}
		case t.NInputs == 0:
			return spec.Invalid("inputs", "the task has none", "PUT them first")
		}
		pieces := spec.Ceil(t.NInputs, t.PerJob)
		if t.InLots {
			if pieces, err = g.commitLots(ctx, tx, id); err != nil {
				return err
			}
		}
		if pieces > spec.MaxPieces {
			return spec.Invalid("inputs", fmt.Sprintf("make %d jobs, more than %d", pieces, spec.MaxPieces), "raise per_job")
		}
		if err := t.corresponds(ctx, tx); err != nil {
			return err
		}
		state := t.entry(st, "ready")
		if t.ShareID == nil {
			state = "waiting"
		}
		_, err = tx.Exec(ctx, query["commit"], pgx.StrictNamedArgs{"task": id, "state": state, "n_pieces": pieces, "n_inputs": t.NInputs})
		if err != nil {
			return err
		}
		return record(ctx, tx, "commit", id, t.State, state)
	})
	if err != nil {
		return view.Task{}, fmt.Errorf("commit: %w", err)
	}
	g.hint()
	return g.tasks.Task(ctx, id)
}
