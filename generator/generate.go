package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/internal/pg"
)

// errOvertaken: somebody else generates for the share, or has since the decision was made.
var errOvertaken = errors.New("overtaken by another generator")

// Generate makes one batch of jobs for the neediest share that nobody else is generating for, and returns how many.
// 0 means that every share has its stock or is in other hands. Where there are many tasks, who is needy is looked up
// from time to time only; Heard makes that sooner.
func (g *Generator) Generate(ctx context.Context) (n int, err error) {
	for looked := false; ; {
		need, ok, err := g.broker.Next(ctx, &looked)
		if err != nil {
			return 0, fmt.Errorf("generate: %w", err)
		}
		if !ok {
			return 0, nil
		}
		try := need
		err = g.write(ctx, func(tx pgx.Tx) error {
			try.Wants = maps.Clone(need.Wants) // a batch takes its jobs off
			n, err = g.generate(ctx, tx, try)
			return err
		})
		switch {
		case errors.Is(err, errOvertaken):
			continue
		case err != nil:
			return 0, fmt.Errorf("generate: %w", err)
		case n > 0:
			g.metrics.generated.Add(float64(n))
			g.broker.Rest(need, try.Wants)
			return n, nil
		}
	}
}

// generate serves one share in one transaction. The advisory lock keeps workers out of each other's way; the
// epoch is the proof that the share is as it was when its need was worked out.
func (g *Generator) generate(ctx context.Context, tx pgx.Tx, need broker.Need) (n int, err error) {
	free, err := pg.TryLock(ctx, tx, pg.LockShare, int32(need.Share))
	if err != nil {
		return 0, err
	}
	if !free {
		return 0, errOvertaken
	}
	if err := steady(ctx, tx); err != nil {
		return 0, err
	}
	var epoch int64
	err = tx.QueryRow(ctx, query["raise_epoch"], pgx.StrictNamedArgs{"share": int32(need.Share), "epoch": need.Epoch}).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, errOvertaken
	}
	if err != nil {
		return 0, err
	}
	tasks, err := g.choose(ctx, tx, need)
	if err != nil {
		return 0, err
	}
	lots, err := readLots(ctx, tx, inLots(tasks))
	if err != nil {
		return 0, err
	}
	plan := allot(tasks, lots, need.Wants, cmp.Or(need.Most, g.broker.Mark().Batch))
	jobs, err := g.cut(ctx, tx, plan, need.Share)
	if err != nil {
		return 0, err
	}
	if _, err := intake.Enqueue(ctx, tx, jobs); err != nil {
		return 0, err
	}
	return len(jobs), advance(ctx, tx, plan)
}

// sourceTask is a task with pieces left, locked.
type sourceTask struct {
	ID          int64
	ShapeID     int32
	Priority    int
	MaxAttempts int
	Split       string
	PerJob      int64
	NEvents     int64
	NInputs     int64
	NPieces     int64
	NSplit      int64
	NJobs       int64
	NGenerated  int64
	Quota       int64 // that limits of the site let NGenerated come to
	RetryAfter  int64
	Scaled      bool // its pieces are stored by name, as inputs
	Released    bool // its pieces are those of released_pieces; NPieces says how many
	NLots       int  // 0: it has none
	Scouting    bool
	UserName    string // where its share tells users apart
}

// inLots are the tasks whose pieces are cut from lots.
func inLots(tasks []sourceTask) (ids []int64) {
	for _, t := range tasks {
		if t.NLots > 0 {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// choose locks the tasks that come next, by priority, then age; where the share gives jobs by fair turn among users, those of
// each user who lacks jobs.
func (g *Generator) choose(ctx context.Context, tx pgx.Tx, need broker.Need) ([]sourceTask, error) {
	var only []int64 // nil: all
	users, shapes := need.Users()
	if len(users) > 0 {
		rows, err := tx.Query(ctx, query["choose_by_turn"], pgx.StrictNamedArgs{
			"share": int32(need.Share), "users": users, "shapes": shapes, "limit": g.broker.Mark().Tasks})
		if err != nil {
			return nil, err
		}
		if only, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return nil, err
		}
	}
	rows, err := tx.Query(ctx, query["choose"], pgx.StrictNamedArgs{
		"share": int32(need.Share), "shapes": need.Shapes(), "only": only, "limit": g.broker.Mark().Tasks})
	if err != nil {
		return nil, err
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[sourceTask])
	slices.SortFunc(tasks, func(a, b sourceTask) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
	})
	return tasks, err
}

// part is what one task contributes to a batch: fresh pieces from NSplit on, then pieces to try again.
type part struct {
	sourceTask
	fresh int64
	again int64
	made  int64 // of again, what was found
	after int64 // cursor of retries after the batch

	cuts []lotCut // where the fresh pieces come from, of a task with lots
	more int64    // that it has more pieces than was thought
}

// allot spreads a batch over tasks in their order, within what each level wants.
func allot(tasks []sourceTask, lots map[int64][]*split.Lot, wants map[broker.Rung]int64, batch int64) []part {
	var plan []part
	for _, t := range tasks {
		if t.NLots > 0 {
			if p := allotLots(t, lots[t.ID], wants, batch); p.fresh+p.again > 0 {
				plan, batch = append(plan, p), batch-p.fresh-p.again
			}
			continue
		}
		r := broker.Rung{Shape: t.ShapeID, Priority: t.Priority, User: t.UserName}
		n := min(t.NJobs-t.NGenerated, t.Quota-t.NGenerated, wants[r], batch)
		if n <= 0 {
			continue
		}
		wants[r] -= n
		batch -= n
		fresh := min(n, t.NPieces-t.NSplit)
		plan = append(plan, part{sourceTask: t, fresh: fresh, again: n - fresh, after: t.RetryAfter})
	}
	return plan
}

// advance books the batch on the tasks; their rows are locked, so a guard that fails is a bug or a lost fence.
func advance(ctx context.Context, tx pgx.Tx, plan []part) error {
	var ids, befores, fresh, again, gone, afters, short []int64
	for _, p := range plan {
		ids, befores = append(ids, p.ID), append(befores, p.NGenerated)
		fresh, again = append(fresh, p.fresh), append(again, p.made)
		gone, afters = append(gone, p.again-p.made), append(afters, p.after)
		if p.again > p.made {
			short = append(short, p.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	tag, err := tx.Exec(ctx, query["advance"], pgx.StrictNamedArgs{"tasks": ids, "befores": befores, "splits": fresh,
		"agains": again, "gones": gone, "retry_afters": afters})
	if err != nil {
		return err
	}
	if tag.RowsAffected() != int64(len(ids)) {
		return errOvertaken
	}
	if err := advanceLots(ctx, tx, plan); err != nil {
		return err
	}
	_, err = judge.Tasks(ctx, tx, short)
	return err
}
