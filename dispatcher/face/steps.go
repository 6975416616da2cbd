package face

import "context"

// What the leader does by the rules of the site, see package rules. Each is a step that some daemon does now and then.

// Learn reads what Finish did not know of jobs and their site, and returns how many blocks of jobs.
func (d *Dispatcher) Learn(ctx context.Context) (n int, err error) { return d.rules.Learn(ctx) }

// Judge says what becomes of jobs whose attempts a rule or the terms of their task have a say in.
func (d *Dispatcher) Judge(ctx context.Context) (n int, err error) { return d.rules.Judge(ctx) }

// Reclaim takes units back for shares that are below their targets.
func (d *Dispatcher) Reclaim(ctx context.Context) (n int, err error) { return d.rules.Reclaim(ctx) }

// WatchQueues finds queues that fail nearly all that they get, and lets them go.
func (d *Dispatcher) WatchQueues(ctx context.Context) (n int, err error) {
	return d.rules.WatchQueues(ctx)
}
