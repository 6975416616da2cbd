package dispatcher

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
)

// states are those of leases as the leader keeps them.
var states = map[LeaseState]lease.State{"": lease.Granted, Granted: lease.Granted, Starting: lease.Starting, Running: lease.Running, Draining: lease.Draining}

// Renew prolongs leases by their TTL, else by Timing.TTL, and notes state and usage.
func (d *Dispatcher) Renew(ctx context.Context, req RenewRequest) (RenewReply, error) {
	reply := RenewReply{Kept: []string{}, Lost: []string{}, Cancel: []CancelOrder{}, RenewAfter: d.cfg.RenewEvery.Seconds()}
	var in []lease.Renewal
	var tokens []string
	var reports []map[string]any
	for i, r := range req.Leases {
		state, ok := states[r.State]
		if !ok {
			return RenewReply{}, job.Wrong(fmt.Sprintf("leases[%d].state", i), r.State, "granted, starting, running or draining")
		}
		key, ok := parseLease(r.Lease)
		if !ok {
			reply.Lost = append(reply.Lost, r.Lease)
			continue
		}
		used := bounded(r.Usage)
		in = append(in, lease.Renewal{Key: key, Started: state >= lease.Running, TTL: min(r.TTL, mostTTL), State: state,
			CPUMilli: milli(used.CPUSeconds), MemoryMB: used.MemoryMB})
		tokens, reports = append(tokens, r.Lease), append(reports, r.Report)
	}
	if len(in) == 0 {
		return reply, nil
	}
	out, err := d.renew(ctx, in)
	if err != nil {
		return RenewReply{}, fmt.Errorf("renew: %w", err)
	}
	for i, r := range out {
		if !r.Kept {
			reply.Lost = append(reply.Lost, tokens[i])
			continue
		}
		reply.Kept = append(reply.Kept, tokens[i])
		d.reported.note(in[i].Key, reports[i])
		if r.Order != nil {
			reply.Cancel = append(reply.Cancel, CancelOrder{Lease: tokens[i], Reason: r.Order.Reason, GraceS: float64(r.Order.GraceS)})
		}
	}
	return reply, nil
}

// mostTTL bounds what a protocol may ask for: half a century of seconds fits the log.
const mostTTL = 1 << 30 * time.Second

// milli is seconds in milliseconds.
func milli(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

// renew keeps leases alive.
func (d *Dispatcher) renew(ctx context.Context, all []lease.Renewal) ([]lease.Renewed, error) {
	a, err := d.ask(ctx, lease.Ask{Renew: all})
	return a.Renewed, err
}
