package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// renewal is one lease of a RenewRequest.
type renewal struct {
	key    leaseKey
	state  LeaseState
	usage  Usage
	report map[string]any
	ttl    time.Duration
}

// renewed is what became of it.
type renewed struct {
	kept   bool
	reason string // of a cancel order; empty: none
	graceS float64
}

// Renew prolongs leases by their TTL, else by Timing.TTL, and notes state and usage. A lease that ran out but was not expired yet is
// prolonged too. Requests that come at the same time share a statement.
func (d *Dispatcher) Renew(ctx context.Context, req RenewRequest) (RenewReply, error) {
	reply := RenewReply{Kept: []string{}, Lost: []string{}, Cancel: []CancelOrder{}, RenewAfter: d.cfg.Timing.RenewEvery.Seconds()}
	var in []renewal
	var tokens []string
	for i, r := range req.Leases {
		switch r.State {
		case "":
			r.State = Granted
		case Granted, Starting, Running, Draining:
		default:
			return RenewReply{}, job.Wrong(fmt.Sprintf("leases[%d].state", i), r.State, "granted, starting, running or draining")
		}
		if key, ok := parseLease(r.Lease); ok {
			in, tokens = append(in, renewal{key, r.State, r.Usage, r.Report, cmp.Or(r.TTL, d.cfg.Timing.TTL)}), append(tokens, r.Lease)
		} else {
			reply.Lost = append(reply.Lost, r.Lease)
		}
	}
	out, err := d.renewals.call(ctx, in)
	if err != nil {
		return RenewReply{}, fmt.Errorf("renew: %w", err)
	}
	for i, r := range out {
		if !r.kept {
			reply.Lost = append(reply.Lost, tokens[i])
			continue
		}
		reply.Kept = append(reply.Kept, tokens[i])
		if r.reason != "" {
			reply.Cancel = append(reply.Cancel, CancelOrder{Lease: tokens[i], Reason: r.reason, GraceS: r.graceS})
		}
	}
	return reply, nil
}

type leaseQueueRow struct {
	JobID int64
	Nonce int64
	Queue string
}

// LeaseQueues are the queues at which these leases are, by lease. Those that are over, or are none, have no entry; the name of a queue
// that is not known is empty.
func (d *Dispatcher) LeaseQueues(ctx context.Context, leases []string) (map[string]string, error) {
	var jobs, nonces []int64
	for _, l := range leases {
		if key, ok := parseLease(l); ok {
			jobs, nonces = append(jobs, key.job), append(nonces, key.nonce)
		}
	}
	rows, err := byKeyTo(ctx, d, statement{"lease_queues", pgx.StrictNamedArgs{"jobs": jobs, "nonces": nonces}}, pgx.RowToStructByPos[leaseQueueRow])
	if err != nil {
		return nil, fmt.Errorf("queues of leases: %w", err)
	}
	names := make(map[[2]int64]string, len(rows))
	for _, r := range rows {
		names[[2]int64{r.JobID, r.Nonce}] = r.Queue
	}
	at := make(map[string]string, len(rows))
	for _, l := range leases {
		key, _ := parseLease(l)
		if name, ok := names[[2]int64{key.job, key.nonce}]; ok {
			at[l] = name
		}
	}
	return at, nil
}

type renewRow struct {
	JobID        int64
	Nonce        int64
	CancelReason string
	CancelGraceS float64
}

// scanRenewed reads a row of renew.
func scanRenewed(row pgx.CollectableRow) (r renewRow, err error) {
	err = row.Scan(&r.JobID, &r.Nonce, &r.CancelReason, &r.CancelGraceS)
	return r, err
}

func (d *Dispatcher) renewBatch(ctx context.Context, _ int, in []renewal) ([]renewed, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	sorted := slices.Clone(in)
	slices.SortFunc(sorted, func(a, b renewal) int {
		return cmp.Or(cmp.Compare(a.key.job, b.key.job), cmp.Compare(a.key.nonce, b.key.nonce))
	})
	var jobs, nonces, memory []int64
	var attempts, ttls []int32
	var states []string
	var cpu []float64
	for i, r := range sorted {
		if i > 0 && sorted[i-1].key == r.key {
			continue // said twice
		}
		jobs, attempts, nonces = append(jobs, r.key.job), append(attempts, r.key.attempt), append(nonces, r.key.nonce)
		usage := usageBounded(r.usage)
		states, cpu, memory = append(states, string(r.state)), append(cpu, usage.CPUSeconds), append(memory, usage.MemoryMB)
		ttls = append(ttls, int32(r.ttl.Seconds()))
	}
	d.metrics.renewed.Observe(float64(len(jobs)))
	got, err := byKeyTo(ctx, d, statement{"renew", pgx.StrictNamedArgs{"jobs": jobs, "attempts": attempts, "nonces": nonces,
		"states": states, "cpu_s": cpu, "memory_mb": memory, "ttls": ttls}}, scanRenewed)
	if err != nil {
		return nil, err
	}
	byNonce := make(map[int64]renewRow, len(got))
	for _, r := range got {
		byNonce[r.Nonce] = r
	}
	out := make([]renewed, len(in))
	for i, r := range in {
		if row, ok := byNonce[r.key.nonce]; ok && row.JobID == r.key.job {
			out[i] = renewed{kept: true, reason: row.CancelReason, graceS: row.CancelGraceS}
		}
	}
	d.keepReports(ctx, in, out)
	return out, nil
}
