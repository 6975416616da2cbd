package dispatcher

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
)

// heldClaim is a claim as one of its jobs gets to hold it.
type heldClaim struct {
	claim    *liveClaim // nil for a repeat of an answer
	template string
	node     string // empty: others may hold it elsewhere
	devices  []string
	binds    bool // the grant binds it, and is charged for it
}

// holdClaims binds the claims of a job that is granted, those that are not bound yet: in memory; the grant's transaction
// does it for all.
func (s *state) holdClaims(g *grant) {
	if g.job.claims == nil {
		return
	}
	live, devices, _, ok := s.claims.admit(g.window, &g.job)
	if !ok {
		return // a replay: it knows no claims
	}
	for i, c := range live {
		binds := c.State == resource.ClaimPending
		if binds {
			s.claims.put(c, resource.ClaimBound, s.claims.asking.Place, devices[i])
			c.fresh, c.queue = true, g.queue.ID
		}
		c.inflight++
		c.Sharers++
		held := heldClaim{claim: c, template: c.Template.Name, devices: c.Devices, binds: binds}
		if c.Local {
			held.node = c.Place.Node
		}
		g.claims = append(g.claims, held)
	}
	for _, m := range g.charges() {
		s.apply(m, true)
	}
}

// dropClaims undoes holdClaims.
func (g *grant) dropClaims() {
	for _, h := range g.claims {
		c := h.claim
		c.Sharers--
		switch c.inflight--; {
		case c.inflight == 0 && c.fresh:
			c.fresh = false
			g.of.claims.put(c, resource.ClaimPending, resource.Place{}, nil)
		case c.fresh && h.binds: // grants that count on it are under way: they will fail, and no more are to be made
			c.unsure, g.of.claims.again[c.id] = true, true
		}
	}
	for _, m := range g.charges() {
		g.of.apply(uncharged(m), g.spent)
	}
}

// heldClaims notes that the grant was committed: the claims are bound.
func (g *grant) heldClaims() {
	for _, h := range g.claims {
		h.claim.inflight--
		h.claim.fresh = false
	}
}

// doubtClaims has the claims of a grant read again: it was not leased, so they may be bound elsewhere.
func (g *grant) doubtClaims() {
	for _, h := range g.claims {
		h.claim.unsure = true
		g.of.claims.again[h.claim.id] = true
	}
}

// claimArgs are the claims of a batch, one element a claim.
type claimArgs struct {
	at      map[int64]int
	ids     []int64
	ns      []int32
	queues  []int32
	nodes   []string
	devices []string // JSON arrays
	shares  []int32  // that are charged
	binds   []bool   // it is bound by one of the grants
}

func (a *claimArgs) add(g *grant) {
	for _, h := range g.claims {
		i, there := a.at[h.claim.id]
		if !there {
			if a.at == nil {
				a.at = map[int64]int{}
			}
			i = len(a.ids)
			a.at[h.claim.id] = i
			devices, err := json.Marshal(append([]string{}, h.devices...))
			if err != nil {
				panic(err) // plain strings: it cannot be
			}
			a.ids, a.ns, a.queues = append(a.ids, h.claim.id), append(a.ns, 0), append(a.queues, int32(h.claim.queue))
			a.nodes, a.devices = append(a.nodes, h.claim.Place.Node), append(a.devices, string(devices))
			a.shares, a.binds = append(a.shares, int32(g.window.key.share)), append(a.binds, false)
		}
		a.ns[i]++
		a.binds[i] = a.binds[i] || h.binds
	}
}

func (a *claimArgs) args() pg.Args {
	return pg.Args{"ids": a.ids, "ns": a.ns, "queues": a.queues, "nodes": a.nodes, "devices": a.devices, "shares": a.shares, "binds": a.binds}
}

// withClaims is the environment of a job that holds claims: where they are, and which devices they have.
func withClaims(env map[string]string, held []heldClaim) map[string]string {
	if len(held) == 0 {
		return env
	}
	if env = maps.Clone(env); env == nil {
		env = map[string]string{}
	}
	for _, h := range held {
		name := "DIVVY_CLAIM_" + resource.EnvName(h.template)
		if h.node != "" {
			env[name+"_NODE"] = h.node
		}
		if len(h.devices) > 0 {
			env[name+"_DEVICES"] = strings.Join(h.devices, ",")
		}
	}
	return env
}
