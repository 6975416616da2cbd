package dispatcher

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// recordRow is a recorded decision as the statement returns it.
type recordRow struct {
	At              time.Time
	DaemonID        int64
	Lane            int
	Seq             int64
	Share           string
	Deficit         float64
	RunnerUp        string
	RunnerUpDeficit float64
	Candidates      int
	Units           float64
	Round           float64
	Weight          int
	Version         int64
	Cores           int
	Unfit           int
	Barred          int
	Pull            int64
	Floor           bool
	LevelDeficits   []float64 // empty in older records
	Skipped         []string
	SkippedWords    string
}

// decisionOf is the decision that started the running or the last attempt of a job.
func (d *Dispatcher) decisionOf(ctx context.Context, j *subject) (*Decision, error) {
	attempts, err := collect[attemptRow](ctx, d.cfg.Pool, "list_attempts", pgx.StrictNamedArgs{"job": j.ID})
	if err != nil {
		return nil, err
	}
	n := len(attempts)
	if n == 0 {
		return &Decision{Note: "it never had a slot"}, nil
	}
	a := attempts[n-1]
	out := &Decision{Attempt: a.Attempt, Queue: a.Queue, Pilot: a.Pilot, Node: a.Node, ReadyAt: j.CreatedAt, ClaimedAt: a.ClaimedAt}
	if n > 1 && attempts[n-2].EndedAt != nil {
		out.ReadyAt = *attempts[n-2].EndedAt
	}
	out.WaitedS = max(0, a.ClaimedAt.Sub(out.ReadyAt).Seconds())
	if err := d.cfg.Pool.QueryRow(ctx, query["explain_version"], pgx.StrictNamedArgs{"at": a.ClaimedAt}).Scan(&out.Version); err != nil {
		return nil, err
	}
	found, err := collect[recordRow](ctx, d.cfg.Pool, "explain_decision", pgx.StrictNamedArgs{"job": j.ID, "attempt": a.Attempt,
		"claimed_at": a.ClaimedAt})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		out.Note, err = d.notRecorded(ctx, a.ClaimedAt)
		return out, err
	}
	decisionTake(out, found[0])
	return out, nil
}

// notRecorded says how many of the decisions of those seconds have a record.
func (d *Dispatcher) notRecorded(ctx context.Context, at time.Time) (string, error) {
	var n, of int64
	if err := d.cfg.Pool.QueryRow(ctx, query["explain_recorded"], pgx.StrictNamedArgs{"claimed_at": at}).Scan(&n, &of); err != nil {
		return "", err
	}
	switch {
	case n == 0:
		return "not recorded: there are no records of that time. They are written a second later, and dropped by the day", nil
	case n == of:
		return fmt.Sprintf("not recorded: all %d others of those seconds were; its record went with its daemon, or is yet to be written", n), nil
	}
	return fmt.Sprintf("not recorded: %d of about %d decisions of those seconds were", n, of), nil
}

// take turns a row into levels.
func decisionTake(out *Decision, r recordRow) {
	out.Recorded = true
	out.Record = &Record{At: r.At.UTC(), Units: r.Units, Round: r.Round, Candidates: r.Candidates, Weight: r.Weight,
		Unfit: r.Unfit, Barred: r.Barred, Skipped: r.skipped(), SlotCores: r.Cores, Pull: r.Pull,
		Daemon: r.DaemonID, Lane: r.Lane, Seq: r.Seq, Winner: r.Share, RunnerUp: r.RunnerUp, Floor: r.Floor}
	if r.Version > 0 { // else it is an old record, and the time of the grant says which
		out.Version = r.Version
	}
	won, second := strings.Split(r.Share, "/"), strings.Split(r.RunnerUp, "/")
	if r.RunnerUp == "" {
		second = nil
	}
	for i := range won {
		level := DecisionLevel{Share: strings.Join(won[:i+1], "/")}
		if len(r.LevelDeficits) == len(won) {
			level.Deficit = &r.LevelDeficits[i]
		}
		if i < len(second) && out.Record.Parted == 0 {
			level.RunnerUp, level.RunnerUpDeficit = strings.Join(second[:i+1], "/"), level.Deficit
			if won[i] != second[i] {
				out.Record.Parted = i + 1
				level.Deficit, level.RunnerUpDeficit = &r.Deficit, &r.RunnerUpDeficit
			}
		}
		out.Levels = append(out.Levels, level)
	}
	if second == nil {
		out.Levels[len(won)-1].Deficit = &r.Deficit
	}
}

func (r *recordRow) skipped() (list []Skipped) {
	for i, share := range r.Skipped {
		list = append(list, Skipped{Share: share, Reason: skipReasons[r.SkippedWords[i]]})
	}
	return list
}

func decisionSummary(out *Decision, j *subject) string {
	if out.Attempt == 0 {
		return "It never had a slot: it is " + j.State + "."
	}
	s := fmt.Sprintf("Attempt %d got a slot of %s after %s", out.Attempt, out.Queue, waited(out.WaitedS))
	switch {
	case !out.Recorded:
		return s + "; the decision is " + out.Note + "."
	case out.Record.RunnerUp == "":
		return s + ": no other share had a job for it."
	}
	l := out.Levels[out.Record.Parted-1]
	if out.Record.Floor {
		return fmt.Sprintf("%s: %s came before its turn, since the queue has a floor for it; %s would have been next (%s and %s units).",
			s, l.Share, l.RunnerUp, figure(*l.Deficit), figure(*l.RunnerUpDeficit))
	}
	return fmt.Sprintf("%s: %s %s (%s and %s units).", s, l.Share, before(l.RunnerUp, *l.Deficit, *l.RunnerUpDeficit), figure(*l.Deficit), figure(*l.RunnerUpDeficit))
}

// before says why a side with such a deficit was chosen before the runner-up. Only a leaf that is owed units goes before one
// with a larger deficit.
func before(runnerUp string, deficit, second float64) string {
	switch {
	case deficit == second:
		return "was as far from its target as " + runnerUp + ", and served longer ago"
	case deficit < second:
		return "came before its turn, for units that were reclaimed for it; " + runnerUp + " was further below its target"
	case deficit > 0:
		return "was further below its target than " + runnerUp
	}
	return "was less far above its target than " + runnerUp
}

func waited(seconds float64) string {
	if seconds < 60 {
		return figure(seconds) + " s"
	}
	t := ETA{Seconds: seconds}
	return strings.TrimPrefix(eTAWords(&t), "about ")
}
