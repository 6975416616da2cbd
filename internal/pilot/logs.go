package pilot

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// logsWithin bounds how long an ended job waits for its logs to be kept. Its lease is renewed meanwhile.
const logsWithin = 30 * time.Second

// Names in the report of an attempt: where its whole logs lie, or why they do not.
const (
	reportLogs    = "logs"
	reportNotKept = "logs_not_kept"
)

// keepLogs keeps the whole logs of an ended job and reports where. The outcome is the same if that does not work.
func (p *pilot) keepLogs(r *run, res *wire.Result) {
	if p.logs == nil {
		return
	}
	written := r.job.Written()
	if written == nil { // it never started
		return
	}
	defer written.Close()
	ctx, cancel := context.WithTimeout(context.Background(), logsWithin)
	defer cancel()
	name := fmt.Sprintf("%d-%d", r.lease.Job, r.lease.Attempt)
	if err := p.logs.Keep(ctx, name, written.Whole()); err != nil {
		p.log.Warn("logs not kept", "job", r.lease.Job, "attempt", r.lease.Attempt, "error", err)
		res.Report = map[string]any{reportNotKept: payload.Clip(err.Error())}
		return
	}
	res.Report = map[string]any{reportLogs: p.logs.Where(name)}
}
