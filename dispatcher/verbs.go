package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
)

// Verbs are what people and programs have done to jobs, claims and limits. A verb is a transaction that writes a row of the outbox; it returns
// when the row is in the log and this daemon goes by it, or was refused.
type Verbs struct{ d *Dispatcher }

// killed is what the pilots of jobs are told that people kill.
var killed = intake.Killing{Reason: "killed", GraceS: 10}

// mostKilled is how many jobs are killed in one transaction.
const mostKilled = 1000

// KillJob cancels a job and returns its state: a leased job keeps its lease until its pilot has ended it.
// lookup.ErrNoJob when no live job has that id.
func (v *Verbs) KillJob(ctx context.Context, id int64) (state string, err error) {
	live, err := v.KillJobs(ctx, []int64{id})
	if err == nil && len(live) == 0 {
		err = lookup.ErrNoJob
	}
	if err != nil {
		return "", err
	}
	leased := false
	if err = v.d.View(ctx, func(w machine.View) { _, leased = w.Lease(id) }); err != nil || leased {
		return "leased", err
	}
	j, err := v.d.Reader.Job(ctx, id)
	if err == nil && j.State == "leased" { // it ended a moment ago
		if err = v.foldEnd(ctx, lookup.HeldJob{Job: id, Attempt: len(j.Attempts)}); err == nil {
			j, err = v.d.Reader.Job(ctx, id)
		}
	}
	if err == nil && j.EndedAt == nil { // as of what is folded
		j.State = "cancelled"
	}
	return j.State, err
}

// KillJobs cancels jobs, as KillJob does one, a thousand in a transaction. It returns those that were live, rising;
// where it fails, those before that are killed. One that ends at the same moment counts as live.
func (v *Verbs) KillJobs(ctx context.Context, ids []int64) (all []int64, err error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for some := range slices.Chunk(ids, mostKilled) {
		live, err := v.live(ctx, some)
		if err == nil && len(live) > 0 {
			err = v.say(ctx, func(tx pgx.Tx) error { return kill(ctx, tx, live) })
		}
		if err != nil {
			return all, fmt.Errorf("kill: %w", err)
		}
		all = append(all, live...)
	}
	return all, nil
}

func kill(ctx context.Context, tx pgx.Tx, live []int64) error {
	found, err := intake.KillJobs(ctx, tx, killed, live...)
	if err != nil {
		return err
	}
	changes := make([]access.Change, len(found))
	for i, id := range found {
		changes[i] = access.Change{What: "job.kill", Object: strconv.FormatInt(id, 10), Before: "live", After: "killed"}
	}
	return access.Record(ctx, tx, changes...)
}

// live are those of some jobs that are not over, in their order. What the tables have not heard of yet, the machine of this daemon knows.
func (v *Verbs) live(ctx context.Context, ids []int64) (live []int64, err error) {
	by, err := v.d.Reader.Stand(ctx, ids)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(by, func(_ int64, j lookup.Stood) bool { return j.Over() })
	gone, err := v.gone(ctx, by)
	if err == nil && len(gone) > 0 { // they are over, or were made a moment ago
		if err = v.Follow(ctx); err == nil {
			gone, err = v.gone(ctx, by)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, is := by[id]; is && !gone[id] {
			live = append(live, id)
		}
	}
	return live, nil
}

// gone are those of some jobs that the machine of this daemon does not have.
func (v *Verbs) gone(ctx context.Context, jobs map[int64]lookup.Stood) (gone map[int64]bool, err error) {
	gone = map[int64]bool{}
	err = v.d.View(ctx, func(w machine.View) {
		for id, j := range jobs {
			if w.Job(j.Task, id) == (machine.JobsView{}) {
				gone[id] = true
			}
		}
	})
	return gone, err
}

// TargetSlots is how many cores may be held at a queue, as the operator of its pilots sets it.
type TargetSlots = entry.Target

// SetTargetSlots puts a limit in force at all daemons, or takes it back. Nothing is killed: while more is held, nothing is granted under it.
func (v *Verbs) SetTargetSlots(ctx context.Context, t TargetSlots) error {
	return pg.Named("target slots", v.say(ctx, func(tx pgx.Tx) error {
		if _, err := intake.SetTargetSlots(ctx, tx, t); err != nil {
			return err
		}
		return access.Record(ctx, tx, access.Change{What: "queue.target-slots", Object: t.Queue, After: targetText(t)})
	}))
}

// targetText is what was set, for the audit.
func targetText(t TargetSlots) string {
	what := "limit"
	if t.Floor {
		what = "floor"
	}
	text := fmt.Sprintf("%s of %d cores", what, t.Slots)
	if t.Slots < 0 {
		text = "no " + what
	}
	if t.Share != 0 {
		text += fmt.Sprintf(", of share %d", t.Share)
	}
	if t.Class != "" {
		text += ", of " + t.Class
	}
	return text
}
