package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// lateField is where a report keeps what was said of its attempt when that was over.
const lateField = "late"

// Late notes how an attempt ended that had ended otherwise by then, as its pilot says it: a lease that ran out, for
// instance, and then the pilot's own word. It changes nothing but the attempt's report, whose field late holds it. noted is
// false when there is no such attempt, or it ended just so.
func (d *Dispatcher) Late(ctx context.Context, of HeldJob, said Result) (noted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	word := map[string]any{"outcome": said.Outcome, "message": said.Message}
	if said.ExitCode != nil {
		word["exit_code"] = *said.ExitCode
	}
	if len(said.Report) > 0 {
		word["report"] = said.Report
	}
	args := pgx.StrictNamedArgs{"job": of.Job, "attempt": int64(of.Attempt), "outcome": string(said.Outcome),
		"report": packReport(map[string]any{lateField: word})}
	tag, err := d.cfg.Pool.Exec(ctx, query["note_late"], args)
	if err != nil {
		return false, fmt.Errorf("late: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}
