package machine

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Shelves are the units of resources, which hold until the next entry and are not to be changed.
func (v View) Shelves() []gate.Shelf { return v.state.supplies.Shelves() }

// SharingID is whom units of a resource are counted for.
func (v View) SharingID(of *shares.Resource, p gate.Payer, share shares.ShareID) string {
	return v.state.supplies.SharingID(of, p, share)
}

// Charged are the units that claims hold, in the order of the claims.
func (v View) Charged() []gate.Charge { return v.state.claims.Charged() }

// FreeDevices are those of a node that no claim has.
func (v View) FreeDevices(at resource.Place, devices []string) []string {
	return v.state.claims.Free(at, devices)
}

// GangWhys are why a gang did not start, by the nodes where this daemon tried it.
func (v View) GangWhys(claim int64) map[resource.Place]string { return v.state.sorts.nodes.Whys(claim) }

// GangHolds are the nodes of which this daemon holds slots for gangs.
func (v View) GangHolds(now time.Time) []gate.NodeHold { return v.state.sorts.nodes.Held(now) }

// Gang is that of a claim; false if it is over, or has started.
func (v View) Gang(claim int64) (gate.Gang, bool) { return v.state.claims.Gang(claim) }
