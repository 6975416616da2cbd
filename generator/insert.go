package generator

import (
	"cmp"
	"context"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/chain"
	"github.com/divvyhq/divvy/generator/coming"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/shares"
)

// taskEntry is a new row of tasks, as submit.sql reads it.
type taskEntry struct {
	Place       int               `json:"place"`
	Name        string            `json:"name"`
	User        string            `json:"user_name"`
	State       string            `json:"state"`
	Reason      string            `json:"reason"`
	Share       *int32            `json:"share_id"`
	Own         *int32            `json:"own_share_id"`
	Shape       int32             `json:"shape_id"`
	Priority    int               `json:"priority"`
	MaxAttempts int               `json:"max_attempts"`
	Attributes  map[string]string `json:"attributes"`
	Spec        string            `json:"spec"` // JSON as text, which may have escapes that text has not
	TaggedBy    view.TaggedBy     `json:"tagged_by"`
	SiteVersion int64             `json:"site_version"`
	Key         *string           `json:"idempotency_key"`
	Hash        string            `json:"body_hash"`
	Parameters  *string           `json:"parameters"`
	Chain       *string           `json:"chain"`
	taskWork
}

// taskWork is how the task falls into jobs.
type taskWork struct {
	Split    string `json:"split"`
	PerJob   int64  `json:"per_job"`
	Events   int64  `json:"n_events"`
	Inputs   int64  `json:"n_inputs"`
	Pieces   int64  `json:"n_pieces"`
	Jobs     int64  `json:"n_jobs"`
	Lots     *int   `json:"lots"`
	Scouts   *int   `json:"scouts"`
	Running  *int   `json:"max_running"`
	Released *int64 `json:"n_released"`
}

// insertTasks stores tasks with payloads and inputs, by rising id in their order. A task whose idempotency key is taken has
// the id 0.
func insertTasks(ctx context.Context, tx pgx.Tx, all []newTask) (ids []int64, err error) {
	leaves := make([]shares.ShareID, len(all))
	needs := make([]job.Requirements, len(all))
	for i := range all {
		leaves[i], needs[i] = all[i].tag.Share, all[i].spec.Shape()
	}
	if err := stillLeaf(ctx, tx, leaves...); err != nil {
		return nil, err
	}
	shapes, err := intake.InternAll(ctx, tx, needs)
	if err != nil {
		return nil, err
	}
	entries, chains := make([]taskEntry, len(all)), make([]chain.New, len(all))
	for i := range all {
		n := &all[i]
		if chains[i], err = chain.Of(ctx, tx, &n.spec); err != nil {
			return nil, err
		}
		if entries[i], err = n.entry(shapes[i], &chains[i]); err != nil {
			return nil, err
		}
		entries[i].Place = i
	}
	if ids, err = insertEntries(ctx, tx, entries); err != nil {
		return nil, err
	}
	if err := insertParts(ctx, tx, newParts{all, chains, ids}); err != nil {
		return nil, err
	}
	if err := coming.Say(ctx, tx, comingWith(entries, ids)); err != nil {
		return nil, err
	}
	return ids, recordSubmitted(ctx, tx, all, ids)
}

// entry is the row of a task.
func (n *newTask) entry(shape int32, chain *chain.New) (taskEntry, error) {
	kept := n.spec
	kept.Inputs = nil // they have a table of their own
	body, err := kept.Canonical()
	if err != nil {
		return taskEntry{}, err
	}
	w := n.spec.Work()
	state, reason := n.tag.State, n.tag.Reason
	switch {
	case n.spec.InputsStreamed:
		state, reason = "submitting", cmp.Or(reason, chain.Reason)
	case chain.Reason != "" && n.tag.Share != 0:
		state, reason = "waiting", chain.Reason
	}
	return taskEntry{
		Name: n.spec.Name, User: n.spec.User, State: state, Reason: reason,
		Share: shareArg(n.tag.Share), Own: shareArg(n.tag.Own), Shape: shape, Priority: n.spec.Priority,
		MaxAttempts: n.spec.MaxAttempts, Attributes: n.tag.Attributes, Spec: string(body), TaggedBy: n.tag.By,
		SiteVersion: n.tag.Version, Key: textArg(n.key), Hash: hex.EncodeToString(n.hash),
		Parameters: textArg(string(n.parameters)), Chain: textArg(chain.State),
		taskWork: taskWork{Split: w.Split, PerJob: w.PerJob, Events: w.Events, Inputs: w.NInputs, Pieces: w.Pieces,
			Jobs: *cmp.Or(chain.Released, &w.Pieces), Lots: lotsOf(w), Scouts: positive(n.spec.Scout), Running: positive(n.spec.MaxRunning), Released: chain.Released},
	}, nil
}

func insertEntries(ctx context.Context, tx pgx.Tx, entries []taskEntry) ([]int64, error) {
	rows, err := tx.Query(ctx, query["submit"], pgx.StrictNamedArgs{"tasks": entries})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(entries))
	var place int
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&place, &id}, func() error {
		ids[place] = id
		return nil
	})
	return ids, err
}

// comingWith are the jobs that come at once with tasks that were inserted. Those of lots have shapes of their own, and are left to coming.Teller.
func comingWith(entries []taskEntry, ids []int64) (all []coming.Jobs) {
	for i, e := range entries {
		if ids[i] == 0 || e.Share == nil || e.Lots != nil || e.State != "ready" && e.State != "scouting" {
			continue
		}
		n := e.Jobs
		for _, most := range []*int{e.Scouts, e.Running} {
			if most != nil {
				n = min(n, int64(*most))
			}
		}
		all = append(all, coming.Jobs{Share: shares.ShareID(*e.Share), Shape: e.Shape, N: n})
	}
	return all
}

// newParts is what tasks that were inserted have outside of their rows.
type newParts struct {
	tasks  []newTask
	chains []chain.New
	ids    []int64 // 0: it was not inserted
}

func insertParts(ctx context.Context, tx pgx.Tx, p newParts) error {
	var payloads []job.Payload
	var inputs []stored.Chunk
	var late []int64
	var deadlines []time.Time
	var boosts []int
	for i, id := range p.ids {
		if id == 0 {
			continue
		}
		n := &p.tasks[i]
		payloads = append(payloads, n.spec.Payload(id))
		if n.spec.Deadline != nil {
			late, deadlines, boosts = append(late, id), append(deadlines, *n.spec.Deadline), append(boosts, n.spec.Boost)
		}
		if err := p.chains[i].Insert(ctx, tx, id); err != nil {
			return err
		}
		if !n.spec.Work().InLots {
			inputs = append(inputs, stored.Chunk{Task: id, Inputs: n.spec.Inputs})
		} else if err := insertLots(ctx, tx, id, n); err != nil {
			return err
		}
	}
	if len(payloads) == 0 {
		return nil
	}
	if err := intake.AddPayload(ctx, tx, payloads...); err != nil {
		return err
	}
	if len(late) > 0 {
		_, err := tx.Exec(ctx, query["insert_deadline"], pgx.StrictNamedArgs{"tasks": late, "deadlines": deadlines, "boosts": boosts})
		if err != nil {
			return err
		}
	}
	return stored.Copy(ctx, tx, inputs)
}

// positive is a number that a task gives, for a column; nil: it gives none.
func positive(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// lotsOf is tasks.lots of a new task.
func lotsOf(w spec.Work) *int {
	if !w.InLots {
		return nil
	}
	return new(int)
}
