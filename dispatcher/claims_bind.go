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
	node     string
	devices  []string
}

// holdClaims binds the claims of a job that is granted, those that are not bound yet: in memory; the grant's transaction
// does it for all.
func (s *state) holdClaims(g *grant) {
	if g.job.claims == nil {
		return
	}
	live, devices, ok := s.claims.admit(&g.job)
	if !ok {
		return // a replay: it knows no claims
	}
	for i, c := range live {
		if c.State == resource.ClaimPending {
			s.claims.put(c, resource.ClaimBound, s.claims.asking.Place, devices[i])
			c.fresh = true
		}
		c.inflight++
		g.claims = append(g.claims, heldClaim{c, c.Template.Name, c.Place.Node, c.Devices})
	}
}

// dropClaims undoes holdClaims.
func (g *grant) dropClaims() {
	for _, h := range g.claims {
		if h.claim.inflight--; h.claim.inflight == 0 && h.claim.fresh {
			h.claim.fresh = false
			g.of.claims.put(h.claim, resource.ClaimPending, resource.Place{}, nil)
		}
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
			a.ids, a.ns, a.queues = append(a.ids, h.claim.id), append(a.ns, 0), append(a.queues, int32(g.queue.ID))
			a.nodes, a.devices = append(a.nodes, h.node), append(a.devices, string(devices))
		}
		a.ns[i]++
	}
}

func (a *claimArgs) args() pg.Args {
	return pg.Args{"ids": a.ids, "ns": a.ns, "queues": a.queues, "nodes": a.nodes, "devices": a.devices}
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
		env[name+"_NODE"] = h.node
		if len(h.devices) > 0 {
			env[name+"_DEVICES"] = strings.Join(h.devices, ",")
		}
	}
	return env
}
