package job

import (
	"strings"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// ClaimNeed is what the claims of a job ask of a slot. It is part of the job's shape, so that jobs that may run at the same
// slots stand in the same windows; when one of its claims is bound or unbound, the job goes to another shape (TendClaims).
type ClaimNeed struct {
	Queue   string         `json:"queue,omitempty" doc:"With node: where claims of it are bound."`
	Node    string         `json:"node,omitempty"`
	Apart   bool           `json:"apart,omitempty" doc:"Its claims are bound at several places: it waits until one of them is unbound."`
	OnNode  bool           `json:"on_node,omitempty" doc:"It has a claim that is to be bound, so that the pilot has to say on which node it is."`
	Devices map[string]int `json:"devices,omitempty" doc:"Devices that its other claims will take, by kind."`
	Missing bool           `json:"missing,omitempty" doc:"It waits for a template, or for a claim that people make, that there is not yet."`
	Gang    int            `json:"gang,omitempty" doc:"So many jobs start together on one node, this one among them."`

	Resources map[string]int64 `json:"resources,omitempty" doc:"Units of resources that its other claims will hold, beside its own."`
}

// NeedOf is what the claims of one job ask for as they stand now.
func NeedOf(claims []resource.Claim) *ClaimNeed {
	need := &ClaimNeed{}
	for _, c := range claims {
		switch {
		case c.Missing, c.State == resource.ClaimDraining:
			need.Missing = true
		case c.State == resource.ClaimBound && c.Local && need.Node == "":
			need.Queue, need.Node = c.Place.Queue, c.Place.Node
		case c.State == resource.ClaimBound && c.Local && c.Place != need.Place():
			need.Apart = true
		case c.State == resource.ClaimPending:
			need.add(c.Template)
			if c.Template.Gang {
				need.Gang = max(need.Gang, c.Jobs)
			}
		}
	}
	return need
}

// Place is where claims of it are bound; zero: none is.
func (n *ClaimNeed) Place() resource.Place { return resource.Place{Queue: n.Queue, Node: n.Node} }

func (n *ClaimNeed) add(t shares.ClaimTemplate) {
	n.OnNode = n.OnNode || resource.Local(t)
	for kind, k := range t.Devices {
		if n.Devices == nil {
			n.Devices = map[string]int{}
		}
		n.Devices[kind] += k
	}
	for ref, units := range t.Resources {
		if n.Resources == nil {
			n.Resources = map[string]int64{}
		}
		n.Resources[ref] += units
	}
}

// Bound says whether only one node can run the jobs; nil: they have no claims.
func (n *ClaimNeed) Bound() bool { return n != nil && n.Node != "" }

// Starts says whether the jobs start with all of their gang only; nil: they have no claims.
func (n *ClaimNeed) Starts() bool { return n != nil && n.Gang > 0 }

// MetBy says whether a slot has what the claims need, as far as devices have not been given away.
func (n *ClaimNeed) MetBy(o resource.Offer) bool {
	switch {
	case n == nil:
		return true
	case n.Missing, n.Apart, n.Bound() && n.Place() != o.Place, n.OnNode && o.Place.Node == "":
		return false
	}
	for kind, k := range n.Devices {
		for _, id := range o.Devices {
			if of, _, _ := strings.Cut(id, ":"); of == kind {
				k--
			}
		}
		if k > 0 {
			return false
		}
	}
	return true
}
