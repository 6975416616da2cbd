package pilot

import (
	"context"
	"slices"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// mostBytes bounds the logs and outputs of one finish call, well below the server's limit of a body.
const mostBytes = 1 << 20

// outbox holds the results that the server has not recorded yet.
type outbox struct {
	runs    []*run
	doubted []*run // those that wait, see put
	sending bool
	again   backoff
	single  int // so many results go one by one, since the server refused them together
}

// report sends the results that wait, all in one call; those that end meanwhile go in the next one.
func (p *pilot) report(now time.Time) {
	if p.outbox.sending || len(p.outbox.runs) == 0 || p.outbox.again.at.After(now) {
		return
	}
	batch := p.outbox.batch()
	results := make([]wire.Result, len(batch))
	for i, r := range batch {
		r.sending = true
		results[i] = r.result
	}
	p.outbox.sending = true
	p.calls.beside(func() {
		ctx, cancel := context.WithTimeout(p.calls.ctx, p.cfg.timing.Call)
		reply, err := p.cfg.Client.Finish(ctx, wire.FinishRequest{Pilot: p.cfg.Name, Results: results})
		cancel()
		p.calls.post(func() { p.reported(batch, reply, err) })
	})
}

// batch is the head of the outbox, as much as goes into one call.
func (o *outbox) batch() []*run {
	if o.single > 0 {
		return []*run{o.runs[0]}
	}
	n, size := 0, 0
	for n < min(len(o.runs), mostLines) && (n == 0 || size < mostBytes) {
		size += o.runs[n].size
		n++
	}
	return slices.Clone(o.runs[:n])
}

// reported takes the verdicts. Both of them end a result: recorded, or superseded by another attempt.
func (p *pilot) reported(batch []*run, reply wire.FinishReply, err error) {
	now := time.Now()
	p.outbox.sending = false
	for _, r := range batch {
		r.sending = false
		p.vacate(r)
	}
	a := read(err)
	switch {
	case err == nil:
		p.outbox.again = backoff{}
		p.answered(now)
		p.record(now, batch, reply)
	case a.verdict == refused && a.body:
		p.answered(now)
		p.refusedReport(batch, err)
	default:
		p.unanswered(now, "finish", err)
		p.outbox.again.fail(now, a.after, p.cfg.timing)
	}
}

func (p *pilot) record(now time.Time, batch []*run, reply wire.FinishReply) {
	verdicts := make(map[string]string, len(reply.Verdicts))
	for _, v := range reply.Verdicts {
		verdicts[v.Lease] = v.Verdict
	}
	for _, r := range batch {
		switch verdicts[r.lease.Lease] {
		case "":
			p.log.Error("finish without a verdict, sent again", "job", r.lease.Job, "attempt", r.lease.Attempt)
			p.outbox.again.fail(now, 0, p.cfg.timing)
			continue
		case "lease_lost":
			p.log.Warn("result came too late, the lease was lost", "job", r.lease.Job, "attempt", r.lease.Attempt)
		}
		p.outbox.single = max(0, p.outbox.single-1)
		p.drop(r)
	}
}

// refusedReport finds out which result the server cannot take and sends that one bare: how the job ended matters
// more than its log and outputs. A result that is refused even so is given up, loudly; its lease runs out.
func (p *pilot) refusedReport(batch []*run, err error) {
	r := batch[0]
	switch {
	case len(batch) > 1:
		p.outbox.single = len(batch)
	case !r.bare:
		p.log.Error("result refused, sent again without log and outputs", "job", r.lease.Job, "error", err)
		r.bare = true
		r.result.LogTail, r.result.Outputs, r.size = "", nil, 0
		if r.result.Outcome == outcomeBack {
			r.result.Outcome = "failed" // a daemon one version older knows no other
		}
		r.result.Message = payload.Clip("the server refused log and outputs of this attempt: " + err.Error() + "; " + r.result.Message)
	default:
		p.log.Error("result refused, given up", "job", r.lease.Job, "attempt", r.lease.Attempt, "outcome", r.result.Outcome, "error", err)
		p.outbox.single = max(0, p.outbox.single-1)
		p.drop(r)
	}
}
