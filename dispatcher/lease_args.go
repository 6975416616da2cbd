package dispatcher

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// leaseArgs are the columns of a batch: one element a grant, pull by pull; asked, keys, hashes, lows and highs one a
// pull with a request id. What claims hold that the batch binds comes behind the grants, in the columns of the ledger's row.
type leaseArgs struct {
	jobs, nonces, units, tasks             []int64
	attempts, pulls, queues, cores, shapes []int32
	shares                                 []int32
	pilots, nodes                          []string
	rows                                   []pgtype.TID

	asked, lows, highs []int32 // the pull's number; its grants, from 1
	keys               [][16]byte
	hashes             [][]byte

	claims  claimArgs
	befores []string // states before the moves; one for all unless there are claims that hold something
}

func newLeaseArgs(b leaseBatch, withClaims bool) *leaseArgs {
	n := b.size()
	int8s, int4s, texts := columns[int64](n), columns[int32](n), columns[string](n)
	a := &leaseArgs{jobs: int8s(), nonces: int8s(), units: int8s(), tasks: int8s(),
		attempts: int4s(), pulls: int4s(), queues: int4s(), cores: int4s(), shapes: int4s(), shares: int4s(),
		pilots: texts(), nodes: texts(), rows: make([]pgtype.TID, 0, n)}
	for i, p := range b.pulls {
		low := len(a.jobs) + 1
		for _, g := range p.grants {
			if g.job.claims != nil {
				if !withClaims {
					continue
				}
				a.claims.add(g)
			}
			a.jobs, a.attempts, a.nonces = append(a.jobs, g.job.id), append(a.attempts, g.job.attempt), append(a.nonces, g.nonce)
			a.pulls, a.queues, a.units = append(a.pulls, int32(i)), append(a.queues, int32(g.queue.ID)), append(a.units, int64(g.units))
			a.cores, a.tasks = append(a.cores, int32(g.window.shape.need.Cores)), append(a.tasks, g.job.task)
			a.shares, a.shapes = append(a.shares, int32(g.window.key.share)), append(a.shapes, g.window.key.shape)
			a.pilots, a.nodes = append(a.pilots, p.req.Pilot), append(a.nodes, p.req.Node)
			a.rows = append(a.rows, g.job.row)
		}
		if p.hash != nil {
			a.asked, a.keys, a.hashes = append(a.asked, int32(i)), append(a.keys, p.key), append(a.hashes, p.hash)
			a.lows, a.highs = append(a.lows, int32(low)), append(a.highs, int32(len(a.jobs)))
		}
	}
	a.befores = allReady
	if withClaims && len(a.claims.ids) > 0 {
		a.addCharges(b)
	}
	return a
}

// allReady is a column of the ledger that says ready for every move.
var allReady = []string{isReady}

// addCharges adds what the claims hold that the batch binds.
func (a *leaseArgs) addCharges(b leaseBatch) {
	var moves []move
	for _, p := range b.pulls {
		for _, g := range p.grants {
			moves = append(moves, g.charges()...)
		}
	}
	if len(moves) == 0 {
		return
	}
	a.befores = slices.Repeat(allReady, len(a.jobs))
	for _, m := range moves {
		a.befores, a.tasks, a.shares = append(a.befores, m.Before), append(a.tasks, m.Task), append(a.shares, int32(m.Share))
		a.shapes, a.queues, a.units = append(a.shapes, m.Shape), append(a.queues, int32(m.Queue)), append(a.units, int64(m.Units))
	}
}

// columns makes empty columns that have room for n.
func columns[T any](n int) func() []T { return func() []T { return make([]T, 0, n) } }
