package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A claim whose template has resources holds their units while it is bound, once, however many share it. It does so as one
// job would that never runs: its shape has the resources and whom they are counted for, and no cores. The lease that binds
// the claim has a move of it in its row of the ledger, none to leased, and whoever unbinds the claim one back. So all that
// follows from the ledger knows it: who holds what, limits, escrow, allowances, a new start.

// charger finds the shapes of what claims hold, each once.
type charger struct {
	tx    pgx.Tx
	known map[string]int32
}

// shape is what a claim holds while it is bound; 0: nothing.
func (c *charger) shape(ctx context.Context, t shares.ClaimTemplate, payer claimPayer) (id int32, err error) {
	need := job.Requirements{Resources: t.Resources, SharingID: payer.SharingID, Label: payer.Label}
	asks := asksOf(need.Resources)
	if len(asks) == 0 {
		return 0, nil
	}
	key := strings.Join([]string{payer.SharingID, payer.Label, lotOf(asks)}, "\x00")
	id, known := c.known[key]
	if !known {
		if id, err = intern(ctx, c.tx, need); err != nil {
			return 0, err
		}
		if c.known == nil {
			c.known = map[string]int32{}
		}
		c.known[key] = id
	}
	return id, nil
}

// knowCharges finds the shapes of what claims hold. Rarely one is not known yet. d.mu is held.
func (s *state) knowCharges(ctx context.Context, db querier, rows []claimRow) error {
	for i := range rows {
		r := &rows[i]
		if r.ChargeID == 0 {
			continue
		}
		if s.shapes[r.ChargeID] == nil {
			if err := s.loadShapes(ctx, db); err != nil {
				return err
			}
		}
		if r.charge = s.shapes[r.ChargeID]; r.charge == nil {
			return fmt.Errorf("claim %d: there is no shape %d", r.ID, r.ChargeID)
		}
	}
	return nil
}

// charge is the move of a claim's units that the grant makes which binds it.
func (g *grant) charge(c *liveClaim) move {
	return chargeMove(charged{g.window.key.share, c.charge.id, g.queue.ID})
}

// charges are the moves of all claims that a grant binds.
func (g *grant) charges() (moves []move) {
	for _, h := range g.claims {
		if h.binds && h.claim.charge != nil {
			moves = append(moves, g.charge(h.claim))
		}
	}
	return moves
}

// charged is what a bound claim holds, whose share is charged, and where.
type charged struct {
	share shares.ShareID
	shape int32
	queue shares.QueueID
}

// chargeMove is the ledger's word for a claim that takes its units. It is no job's, so it is of no task.
func chargeMove(c charged) move {
	return move{Share: c.share, Shape: c.shape, Queue: c.queue, Before: isNone, After: isLeased, N: 1}
}

// uncharged is the opposite of a chargeMove.
func uncharged(m move) move {
	m.Before, m.After = m.After, m.Before
	return m
}

// covers says whether jobs with the need were asked about for all units that those of the claims will take which are not
// bound: a claim may be unbound while its jobs still have the shape of before.
func covers(n *job.ClaimNeed, live []*liveClaim) bool {
	var take map[string]int64
	for _, c := range live {
		if c.awaited && len(c.Template.Resources) > 0 {
			if take == nil {
				take = map[string]int64{}
			}
			for ref, units := range c.Template.Resources {
				take[ref] += units
			}
		}
	}
	for ref, units := range take {
		if units > n.Resources[ref] {
			return false
		}
	}
	return true
}

// claimPayer is who the units of claims are counted for, beside the share.
type claimPayer struct {
	SharingID string `json:"sharing_id,omitempty"`
	Label     string `json:"label,omitempty"`
}

// expect notes whether a claim is one that will take its units when it is bound.
func (cs *claims) expect(c *liveClaim, awaited bool) {
	if c.charge == nil || c.awaited == awaited {
		return
	}
	c.awaited = awaited
	by := claimPayer{c.charge.full.SharingID, c.charge.full.Label}
	of := cs.costs[by]
	if of == nil {
		of = map[string]int64{}
		cs.costs[by] = of
	}
	for _, a := range c.charge.holds {
		if awaited {
			of[a.ref] += a.units
		} else if of[a.ref] -= a.units; of[a.ref] == 0 {
			delete(of, a.ref)
		}
	}
	if len(of) == 0 {
		delete(cs.costs, by)
	}
}

// wantedStarts is how many jobs of a window could use what they ask for. Of jobs that share a claim the first one takes its
// units: they want no more than the claims do that are not bound yet.
func (s *state) wantedStarts(w *window) int64 {
	n := max(0, w.ready)
	claims := w.shape.full.Claims
	if n == 0 || claims == nil || len(claims.Resources) == 0 {
		return n
	}
	of := s.claims.costs[claimPayer{w.shape.full.SharingID, w.shape.full.Label}]
	for ref, units := range claims.Resources {
		n = min(n, (of[ref]+units-1)/units)
	}
	return n
}

// recountCosts brings up to date what jobs want whose claims will take units, after news of claims.
func (s *state) recountCosts() {
	for _, o := range slices.Concat(s.byAt, s.ofNodes) {
		if o.need.Claims == nil || len(o.shapes) == 0 {
			continue
		}
		for _, w := range o.windows {
			if len(w.shape.full.Claims.Resources) > 0 {
				s.recountWanted(w, false)
			}
		}
	}
}

// movedCharges are like charges of claims that go to another share.
type movedCharges struct {
	FromID   shares.ShareID
	ChargeID int32
	QueueID  shares.QueueID
	N        int32
}

// moveCharges charges another share for what bound claims of a task hold (0: of all), or of a share (0: of all).
func moveCharges(ctx context.Context, tx pgx.Tx, task int64, from, to shares.ShareID) (moves []move, err error) {
	rows, err := collect[movedCharges](ctx, tx, "move_claims", pgx.StrictNamedArgs{"task": task, "from": int32(from), "to": int32(to)})
	for _, r := range rows {
		in := chargeMove(charged{to, r.ChargeID, r.QueueID})
		in.N = r.N
		out := uncharged(in)
		out.Share = r.FromID
		moves = append(moves, out, in)
	}
	return moves, err
}
