package resource

import (
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// ClaimState is where a claim stands in its life.
type ClaimState string

// States of a claim.
const (
	ClaimPending  ClaimState = "pending"  // without holders, place or cost
	ClaimBound    ClaimState = "bound"    // at a place, its units charged; later sharers are charged nothing
	ClaimDraining ClaimState = "draining" // scaled away, charged until its last holder is gone
	ClaimReleased ClaimState = "released" // over, for ever
)

// Claim is one claim and where it stands. The zero Claim is none: start from NewClaim or OutsideClaim.
type Claim struct {
	State    ClaimState
	External bool                 // made outside: bound from the start, free of charge, never ended by us
	Template shares.ClaimTemplate // in force now; a bound claim keeps what it took under an earlier one
	Missing  bool                 // neither the task nor the site has the template: it cannot be bound
	Place    Place                // where it is bound
	Local    bool                 // its sharers run at Place only
	Devices  []string             // of that node, taken for it
	Charge   Charge               // what it costs, and which ID, while it is bound or drains
	Sharers  int                  // jobs that hold it: those with a lease
	Jobs     int                  // jobs that hold it or may yet: all that share it and are not over; not counted of one made outside
	Since    time.Time            // since when a bound claim has no sharer; zero while it has one
}

// Place is where pilots are: a node of a queue.
type Place struct{ Queue, Node string }

// Payer is who a claim is charged to: the leaf and the sharing ID of the job that bound it.
type Payer struct {
	Leaf shares.ShareID
	ID   string
}

// Charge is what a claim costs: units of resources, once, however many share it.
type Charge struct {
	Payer Payer
	Units map[string]int64
}

// Offer is what a pilot offers to a claim: where it is, and the ids of those of its devices that no claim has taken. A
// device's kind is what stands before the first colon of its id: gpu:0; without a colon, all of it.
type Offer struct {
	Place   Place
	Devices []string
}

// NewClaim returns a claim of a task without holders; jobs is how many share it.
func NewClaim(t shares.ClaimTemplate, jobs int) Claim {
	return Claim{State: ClaimPending, Template: t, Jobs: jobs}
}

// MissingClaim is a claim whose template there is not.
func MissingClaim(name string, jobs int) Claim {
	return Claim{State: ClaimPending, Template: shares.ClaimTemplate{Name: name}, Missing: true, Jobs: jobs}
}

// OutsideClaim is a claim that people made at a place; maxSharers 0: no bound. Without a node it is held from anywhere.
func OutsideClaim(at Place, devices []string, maxSharers int) Claim {
	return Claim{State: ClaimBound, External: true, Place: at, Local: at.Node != "", Devices: devices,
		Template: shares.ClaimTemplate{MaxSharers: maxSharers}}
}

// Charged says whether the claim costs its units now.
func (c Claim) Charged() bool {
	return !c.External && (c.State == ClaimBound || c.State == ClaimDraining)
}

// ClaimReason says why a job cannot hold a claim now, in a word for people and programs; "" = it can.
type ClaimReason string

// Reasons, from the one that takes longest to go away to the one that a moment may end.
const (
	ClaimIsReleased      ClaimReason = "claim_released"         // the job's claim is over: it needs a new one
	ClaimIsDraining      ClaimReason = "claim_draining"         // scaled away, and so is the job
	ClaimTemplateMissing ClaimReason = "claim_template_missing" // neither the task nor the site has the template
	ClaimNeedsNode       ClaimReason = "claim_needs_node"       // the pilot does not say on which node it is
	ClaimBoundElsewhere  ClaimReason = "claim_bound_elsewhere"  // others hold it on another node
	ClaimNeedsDevices    ClaimReason = "claim_needs_devices"    // the pilot has too few free devices of a kind
	ClaimFull            ClaimReason = "claim_full"             // max_sharers hold it
)

// take says whether a job of the claim that offer would take may hold it, the gate of §6, and the devices that the claim would be bound with,
// nil if it is bound.
func (c Claim) take(o Offer) (devices []string, reason ClaimReason) {
	switch {
	case c.State == ClaimReleased:
		return nil, ClaimIsReleased
	case c.State == ClaimDraining:
		return nil, ClaimIsDraining
	case c.State == ClaimBound && c.Local && c.Place != o.Place:
		return nil, ClaimBoundElsewhere
	case c.Template.MaxSharers > 0 && c.Sharers >= c.Template.MaxSharers:
		return nil, ClaimFull
	case c.State == ClaimBound:
		return nil, ""
	case c.Missing:
		return nil, ClaimTemplateMissing
	case Local(c.Template) && o.Place.Node == "":
		return nil, ClaimNeedsNode
	}
	if devices = pickDevices(o.Devices, c.Template.Devices); devices == nil && len(c.Template.Devices) > 0 {
		return nil, ClaimNeedsDevices
	}
	return devices, ""
}

// AdmitsAll is Admits for a job of several claims: together or not at all, so no device serves two of them. On the way it
// says which devices each would be bound with.
func AdmitsAll(claims []Claim, o Offer) (devices [][]string, refused int, reason ClaimReason) {
	devices = make([][]string, len(claims))
	for i, c := range claims {
		if devices[i], reason = c.take(o); reason != "" {
			return nil, i, reason
		}
		o.Devices = WithoutDevices(o.Devices, devices[i])
	}
	return devices, -1, ""
}

// WithoutDevices is offered without those that are taken, in the order of offered.
func WithoutDevices(offered, taken []string) []string {
	if len(taken) == 0 {
		return offered
	}
	return slices.DeleteFunc(slices.Clone(offered), func(id string) bool { return slices.Contains(taken, id) })
}

// pickDevices takes the first n of each kind, in the order in which the pilot names them; nil if there are too few.
func pickDevices(offered []string, need map[string]int) (picked []string) {
	got := make(map[string]int, len(need))
	for _, id := range offered {
		kind, _, _ := strings.Cut(id, ":")
		if got[kind] < need[kind] && !slices.Contains(picked, id) {
			got[kind]++
			picked = append(picked, id)
		}
	}
	for kind, n := range need {
		if got[kind] < n {
			return nil
		}
	}
	return picked
}
