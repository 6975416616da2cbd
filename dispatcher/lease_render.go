package dispatcher

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// leaseOf is a committed grant as the pilot gets it.
func (d *Dispatcher) leaseOf(ctx context.Context, g *grant) (Lease, error) {
	key := leaseKey{job: g.job.id, attempt: g.job.attempt, nonce: g.nonce}
	return d.leaseFor(ctx, key, leaseParts{task: g.job.task, share: g.share, need: g.window.shape.need, piece: g.job.piece,
		expires: d.cfg.Timing.FirstTTL.Seconds(), claims: g.claims})
}

// leaseParts is what a Lease is put together from.
type leaseParts struct {
	task    int64
	share   string
	need    job.Requirements
	piece   job.Piece
	expires float64
	claims  []heldClaim
}

func (d *Dispatcher) leaseFor(ctx context.Context, key leaseKey, of leaseParts) (Lease, error) {
	p, err := d.payloads.get(ctx, of.task)
	if err != nil {
		return Lease{}, err
	}
	command, env := p.Render(of.piece)
	env = withClaims(env, of.claims)
	return Lease{Lease: key.String(), Job: key.job, Attempt: int(key.attempt), Task: of.task, Share: of.share,
		Command: command, Env: env, Cores: of.need.Cores, MemoryMB: of.need.MemoryMB, DiskMB: of.need.DiskMB,
		WalltimeS: of.need.WalltimeS, ExpiresIn: of.expires}, nil
}
