package dispatcher

import (
	"context"
	"fmt"
	"math"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
)

// outcomes are the outcomes that pilots may report.
var outcomes = map[Outcome]entry.Outcome{Finished: entry.Finished, Failed: entry.Failed, Cancelled: entry.Cancelled, Revoked: entry.Returned}

// mostReturned is up to which attempt a job that its pilot gives back is not charged: a job that ends its pilots does not go on for ever.
const mostReturned = 10

// Finish records how attempts ended. It is idempotent: the same result again is Recorded again. The result of an attempt that ended
// otherwise meanwhile is LeaseLost and changes nothing.
func (d *Dispatcher) Finish(ctx context.Context, req FinishRequest) (FinishReply, error) {
	reply := FinishReply{Verdicts: make([]Verdict, len(req.Results))}
	var in []lease.End
	var at []int
	for i, r := range req.Results {
		outcome, ok := outcomes[r.Outcome]
		if !ok {
			return FinishReply{}, job.Wrong(fmt.Sprintf("results[%d].outcome", i), r.Outcome, "finished, failed, cancelled or revoked")
		}
		if c := r.ExitCode; c != nil && (*c < math.MinInt32 || *c > math.MaxInt32) {
			return FinishReply{}, job.Wrong(fmt.Sprintf("results[%d].exit_code", i), *c, "an exit code")
		}
		reply.Verdicts[i] = Verdict{Lease: r.Lease, Verdict: LeaseLost}
		if key, ok := parseLease(r.Lease); ok {
			if outcome == entry.Returned && key.Attempt > mostReturned {
				outcome = entry.Failed
			}
			r.Report = d.reported.under(key, r.Report)
			in, at = append(in, endOf(key, outcome, &r)), append(at, i)
		}
	}
	if len(in) == 0 {
		return reply, nil
	}
	out, err := d.finish(ctx, in)
	if err != nil {
		return FinishReply{}, fmt.Errorf("finish: %w", err)
	}
	d.reported.over(in)
	for n, v := range out {
		said := &reply.Verdicts[at[n]]
		if said.JobState = stateAfter(v); v.Is {
			said.Verdict = Recorded
		}
	}
	return reply, nil
}

// endOf is a result as the leader takes it.
func endOf(key lease.Key, outcome entry.Outcome, r *Result) lease.End {
	used := bounded(r.Usage)
	e := lease.End{Key: key, Outcome: outcome, CPUMilli: milli(used.CPUSeconds), MemoryMB: used.MemoryMB}
	if r.ExitCode != nil {
		e.ExitCode = int32(*r.ExitCode)
	}
	t := ledger.Text{Outputs: packOutputs(r.Outputs), Log: clean(r.LogTail), Reason: clean(r.Message)}
	t.Report, t.Metadata = packEnd(r.Report)
	if t.Size() > 0 {
		e.Text = &t
	}
	return e
}

// stateAfter is that of the job after an attempt; empty where it is not known.
func stateAfter(v lease.Recorded) string {
	switch {
	case v.Outcome == 0:
		return ""
	case v.Next == entry.Again:
		return "ready"
	case v.Next == entry.Waits:
		return "waiting"
	case v.Next == entry.Undone || v.Outcome == entry.Cancelled:
		return "cancelled"
	case v.Outcome == entry.Finished:
		return "finished"
	}
	return "failed"
}

func (d *Dispatcher) finish(ctx context.Context, all []lease.End) ([]lease.Recorded, error) {
	for _, e := range all {
		if e.Text != nil {
			if err := e.Text.Check(); err != nil { // it could never be written, and would keep the log from going on
				return nil, err
			}
		}
	}
	a, err := d.ask(ctx, lease.Ask{Finish: all})
	return a.Verdicts, err
}

// lateField is where a report keeps what came after the end of its attempt.
const lateField = "late"

// Late notes how an attempt ended that had ended otherwise by then, as its pilot says it: a lease that ran out, for instance, and then the
// pilot's own word. It changes nothing but the attempt's report, whose field late holds it. noted is false when there is no such attempt, or
// it ended just so, or said so before.
func (v *Verbs) Late(ctx context.Context, of lookup.HeldJob, said Result) (noted bool, err error) {
	word := map[string]any{"outcome": said.Outcome, "message": said.Message}
	if said.ExitCode != nil {
		word["exit_code"] = *said.ExitCode
	}
	if len(said.Report) > 0 {
		word["report"] = said.Report
	}
	letter := ""
	if o := outcomes[said.Outcome]; o != 0 {
		letter = string(rune(o))
	}
	args := pg.Args{"job": of.Job, "attempt": int32(of.Attempt), "outcome": letter, "said": string(said.Outcome),
		"report": packReport(map[string]any{lateField: word})}
	for range 2 {
		tag, err := v.d.cfg.Pool.Exec(ctx, query["note_late"], args)
		if err != nil || tag.RowsAffected() > 0 {
			return err == nil, pg.Named("late", err)
		}
		if err := v.foldEnd(ctx, of); err != nil { // it may have ended a moment ago
			return false, pg.Named("late", err)
		}
	}
	return false, nil
}

// foldEnd brings an end that the machine knows into the tables. An attempt that still runs is left.
func (v *Verbs) foldEnd(ctx context.Context, of lookup.HeldJob) error {
	runs := false
	if err := v.d.eye.machine(ctx, func(m *machine.Machine) {
		l, ok := m.Lease(of.Job)
		runs = ok && int(l.Attempt) == of.Attempt
	}); err != nil || runs {
		return err
	}
	return v.d.catchUp(ctx)
}
