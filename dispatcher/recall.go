package dispatcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// lookUp finds out whether a pull with a request id repeats one that was answered, maybe by another daemon. d.mu is held.
func (d *Dispatcher) lookUp(p *pull) {
	p.recall = recalling
	d.toRecall = append(d.toRecall, p)
	if !d.recalling {
		d.recalling = true
		d.work.Go(d.recallPulls)
	}
}

// mostRecalled bounds the pulls of one look-up.
const mostRecalled = 1000

// recallPulls looks up all that gathers while it works in one statement after the other: nearly no pull is a repeat, and where
// ten thousand begin to wait, one by one they would be most of what the database does.
func (d *Dispatcher) recallPulls() {
	for {
		d.mu.Lock()
		pulls := d.toRecall
		d.toRecall, d.recalling = nil, len(pulls) > 0
		d.mu.Unlock()
		if len(pulls) == 0 {
			return
		}
		for some := range slices.Chunk(pulls, mostRecalled) {
			answered, err := d.answered(some)
			d.mu.Lock()
			for _, p := range some {
				if err == nil && answered[p.key] {
					d.work.Go(func() { d.recallPull(p) })
				} else {
					d.recalled(p, nil, err)
				}
			}
			d.mu.Unlock()
		}
	}
}

// answered are the request ids among those of the pulls that were answered. The grants of all of them are secured before
// any is handed out again: they were committed with the ids.
func (d *Dispatcher) answered(pulls []*pull) (map[[16]byte]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	keys := make([][16]byte, len(pulls))
	for i, p := range pulls {
		keys[i] = p.key
	}
	found, err := byKeyTo(ctx, d, statement{"answered", pgx.StrictNamedArgs{"keys": keys}}, pgx.RowTo[[16]byte])
	if err == nil && len(found) > 0 {
		err = pg.Secure(ctx, d.cfg.Pool)
	}
	known := make(map[[16]byte]bool, len(found))
	for _, key := range found {
		known[key] = true
	}
	return known, err
}

// recallPull finds what a pull was answered that has its request id.
func (d *Dispatcher) recallPull(p *pull) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	leases, err := d.recallLeases(ctx, p)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recalled(p, leases, err)
}

// recalled goes on with a pull that was looked up. d.mu is held.
func (d *Dispatcher) recalled(p *pull, leases []Lease, err error) {
	p.recall = recalled
	if p.gone || p.taken && !p.aside {
		if err != nil || len(leases) > 0 {
			p.recall = notRecalled // the grant that is on its way will take nothing: then this is looked up again
		}
		return
	}
	switch {
	case err != nil || len(leases) > 0:
		d.line.remove(p)
		d.finishPull(p, leases, err)
	case p.aside:
		p.aside = false
		d.line.again(d, p)
		d.kick()
	case p.over:
		d.line.expire(d, p)
	default: // no repeat: it waits its turn
		if c := d.line.classes[p.class]; c != nil {
			d.line.wake(c)
			d.kick()
		}
	}
}

type recallRow struct {
	BodyHash   []byte
	JobID      int64
	Attempt    int32
	Nonce      int64
	TaskID     int64
	ShareID    shares.ShareID
	ShapeID    int32
	Idx        int64
	Inputs     []string
	FirstEvent int64
	NEvents    int64
	Claims     []int64
	ExpiresS   float64
}

// recallLeases returns nothing for a request id that was never answered, ErrRequestReused or ErrRequestOver.
func (d *Dispatcher) recallLeases(ctx context.Context, p *pull) ([]Lease, error) {
	rows, err := d.cfg.Pool.Query(ctx, query["recall"], pgx.StrictNamedArgs{"key": p.key})
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[recallRow])
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if string(found[0].BodyHash) != string(p.hash) {
		return nil, ErrRequestReused
	}
	var leases []Lease
	for _, r := range found {
		if r.JobID == 0 {
			return nil, ErrRequestOver
		}
		d.mu.Lock()
		of := leaseParts{task: r.TaskID, expires: r.ExpiresS,
			piece: job.Piece{Index: r.Idx, Inputs: r.Inputs, FirstEvent: r.FirstEvent, Events: r.NEvents}}
		if node, ok := d.state.version.Tree.ByID(r.ShareID); ok {
			of.share = d.state.version.Tree.Nodes[node].Path
		}
		if sh := d.state.shapes[r.ShapeID]; sh != nil {
			of.need = sh.need
		}
		d.mu.Unlock()
		if of.claims, err = d.recallClaims(ctx, r.Claims); err != nil {
			return nil, err
		}
		lease, err := d.leaseFor(ctx, leaseKey{r.JobID, r.Attempt, r.Nonce}, of)
		if err != nil {
			return nil, err
		}
		leases = append(leases, lease)
	}
	return leases, nil
}
