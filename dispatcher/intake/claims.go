package intake

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// NewClaim is a claim that the new jobs of a task will refer to.
type NewClaim struct {
	Key       string // resource.ClaimKey.Name; the claim's own name if people make it
	Template  shares.ClaimTemplate
	Missing   bool   // there is no such template; the jobs wait until the site has it
	Outside   bool   // people make it, without a template; the jobs wait until they do
	SharingID string // which ID pays for its units where a resource is split by user,
	Label     string // and which where a resource is split by label; by share, the share of the job that binds it pays
	Members   int    // jobs that share it, made or not; for a retry only the retried jobs
	Made      int    // of Members, those about to be made
}

// keyed is a locked row of claim_keys.
type keyed struct {
	ID      int64
	TaskID  int64
	Key     string
	Members int64
	Made    int64
	Outside bool // people have made it
}

// MakeClaims finds or makes claims of a task and returns their ids in the order of all. It runs in the transaction
// that enqueues the jobs. It tells the log how many more jobs will hold each claim. The machine decides whether the
// claim is over by then and has to be made anew.
func MakeClaims(ctx context.Context, tx pgx.Tx, task int64, all []NewClaim) (ids []int64, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	type name struct {
		TaskID int64
		Key    string
	}
	names := list(all, func(c NewClaim) name {
		if c.Outside {
			return name{Key: c.Key}
		}
		return name{task, c.Key}
	})
	rows, err := pg.Collect[keyed](ctx, tx, query["key_claims"], pg.Columns(names))
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	byName := make(map[name]*keyed, len(rows))
	for i := range rows {
		byName[name{rows[i].TaskID, rows[i].Key}] = &rows[i]
	}
	ids = make([]int64, len(all))
	var told []entry.Entry
	for i, c := range all {
		row := byName[names[i]]
		ids[i] = row.ID
		if e, is := c.claimed(row, task); is {
			told = append(told, e)
		}
	}
	if err := countClaims(ctx, tx, rows); err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	return ids, Say(ctx, tx, told)
}

// claimed counts the jobs about to be made. It returns the entry that the log needs before these jobs, if any.
func (c NewClaim) claimed(row *keyed, task int64) (e entry.Claimed, is bool) {
	e = entry.Claimed{Claim: row.ID, Task: task, Key: c.Key, Template: c.Template, Missing: c.Missing, SharingID: c.SharingID, Label: c.Label}
	if c.Outside {
		e.Task, e.Missing, e.SharingID, e.Label = 0, true, "", ""
		return e, !row.Outside
	}
	more := int64(c.Made) - (row.Members - row.Made)
	if row.Members == row.Made && (row.Members == 0 || c.Template.Gang || c.Missing) {
		more = int64(max(c.Members, c.Made)) // all of them, since they may start together
	}
	row.Made += int64(c.Made)
	if more <= 0 {
		return e, false
	}
	row.Members += more
	e.Jobs = int(more)
	return e, true
}

func countClaims(ctx context.Context, tx pgx.Tx, rows []keyed) error {
	_, err := tx.Exec(ctx, query["count_claims"], pg.Columns(rows))
	return err
}

// unmake tells all claims of the tasks that the jobs not made yet never will be.
func unmake(ctx context.Context, tx pgx.Tx, tasks []int64) (dropped []entry.Entry, err error) {
	rows, err := pg.Collect[struct{ ID, N int64 }](ctx, tx, query["unmake_claims"], pgx.StrictNamedArgs{"tasks": tasks})
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	for _, r := range rows {
		dropped = append(dropped, entry.Dropped{Claim: r.ID, Unmade: int(r.N)})
	}
	return dropped, nil
}

// Complete says that no more jobs of the tasks will be made. Claims that expect more jobs end with the existing ones.
// Kill does this itself for whole tasks.
func Complete(ctx context.Context, tx pgx.Tx, tasks ...int64) error {
	dropped, err := unmake(ctx, tx, tasks)
	if err != nil {
		return err
	}
	return Say(ctx, tx, dropped)
}
