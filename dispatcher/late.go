package dispatcher

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
)

// lateField is where a report keeps what was said of its attempt when that was over.
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
			return err == nil, wrap("late", err)
		}
		if err := v.foldEnd(ctx, of); err != nil { // it may have ended a moment ago
			return false, wrap("late", err)
		}
	}
	return false, nil
}

func wrap(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
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
