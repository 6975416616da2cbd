package explain

import "strings"

// Gate is a kind of thing that a job must pass at a pull.
type Gate string

// The gates in their order: the first that a job fails is the one that counts.
const (
	GateStructural      Gate = "structural"             // the queue does not run such jobs, or none now
	GatePaused          Gate = "paused"                 // its task does not want it to run
	GateBackoff         Gate = "backoff"                // it is tried again later, after an attempt that did not finish
	GateBlackHole       Gate = "black_hole"             // the queue fails nearly all that it gets, and has a job now and then
	GateCap             Gate = "cap"                    // the slots of the queue, the capacity of the pool, a max up the path or target slots are used up
	GateLending         Gate = "lending"                // units are idle that their owner does not lend, or that it may not borrow
	GateTemplateMissing Gate = "claim_template_missing" // neither the task nor the site has the template of a claim
	GateClaimMissing    Gate = "claim_missing"          // a claim that people are to make is not there
	GateClaimDraining   Gate = "claim_draining"         // it is being given up
	GateClaimNode       Gate = "claim_needs_node"       // no pilot says on which node it is
	GateClaimElsewhere  Gate = "claim_bound_elsewhere"  // others hold it on another node
	GateClaimDevices    Gate = "claim_needs_devices"    // no pilot has enough free devices
	GateClaimFull       Gate = "claim_full"             // as many hold it as may
	GateGangWaiting     Gate = "gang_waiting"           // not all that start together fit on a node

	GateResourceUnknown   Gate = "resource_unknown"   // the site does not have a resource that it asks for
	GateResourceCapacity  Gate = "resource_capacity"  // all units are held
	GateResourceExternal  Gate = "resource_external"  // others use them outside of this site
	GateResourceReserved  Gate = "resource_reserved"  // they are kept for a job that was passed over for long
	GateResourceAllowance Gate = "resource_allowance" // its sharing ID holds its part, the rest is kept for others
	GateResourceIO        Gate = "resource_io"        // what runs at the queue reads and writes as much as it may

	GateShare    Gate = "share"    // another share is further below its target
	GateUser     Gate = "user"     // another user of its share holds less
	GatePriority Gate = "priority" // other jobs of its share come first
	GateNone     Gate = "none"     // nothing: it gets the next slot
)

// gates are the kinds in their order: how the answer begins for a job that gets as far, and why nobody knows when it starts; empty: that is
// estimated.
var gates = []struct {
	answer, unknown string
	gates           []Gate
}{
	{"No queue can run it", "no queue can run it", []Gate{GateStructural}},
	{"It is not ready", "", []Gate{GatePaused, GateBackoff}},
	{"Where it may run jobs fail", "it depends on when the queue works again", []Gate{GateBlackHole}},
	{"All that it may use is held", "", []Gate{GateCap}},
	{"Units are kept back on purpose", "", []Gate{GateLending}},
	{"It waits for a claim", "it depends on what becomes of a claim that it shares with others", []Gate{GateTemplateMissing, GateClaimMissing,
		GateClaimDraining, GateClaimNode, GateClaimElsewhere, GateClaimDevices, GateClaimFull, GateGangWaiting}},
	{"It waits for units of a resource", "it depends on when units of a resource come back, and to whom they go", []Gate{GateResourceUnknown,
		GateResourceCapacity, GateResourceExternal, GateResourceReserved, GateResourceAllowance}},
	{"Others read and write as much as they may", "it depends on when jobs end that read and write there", []Gate{GateResourceIO}},
	{"It waits for its share's turn", "", []Gate{GateShare}},
	{"Its share is next, its user is not", "", []Gate{GateUser}},
	{"Its share is next, it is not", "", []Gate{GatePriority}},
	{"Nothing is in its way", "", []Gate{GateNone}},
}

// said is the place of a gate in their order, from 1, and what is said of a job that gets as far.
func (g Gate) said() (place int, answer, unknown string) {
	for _, kind := range gates {
		for _, is := range kind.gates {
			if place++; is == g {
				return place, kind.answer, kind.unknown
			}
		}
	}
	return 0, "", ""
}

func (g Gate) place() int {
	place, _, _ := g.said()
	return place
}

func (g Gate) isResource() bool { return strings.HasPrefix(string(g), "resource_") }

// QueueGate is how far a job gets at one queue, with a slot as large as the queue allows.
type QueueGate struct {
	Queue  string `json:"queue"`
	Pool   string `json:"pool"`
	Gate   Gate   `json:"gate" enum:"structural,paused,backoff,black_hole,cap,lending,claim_template_missing,claim_missing,claim_draining,claim_needs_node,claim_bound_elsewhere,claim_needs_devices,claim_full,gang_waiting,resource_unknown,resource_capacity,resource_external,resource_reserved,resource_allowance,resource_io,share,user,priority,none" doc:"The first gate that it does not pass."`
	Reason string `json:"reason"`
	First  *Side  `json:"first,omitempty" doc:"With gate share: who would get a slot here now."`
	Own    *Side  `json:"own,omitempty" doc:"With gate share: the job's own side, which is less far below its target, or was served last."`

	FirstUser *UserStanding `json:"first_user,omitempty" doc:"With gate user: whose job would get a slot here now."`
	OwnUser   *UserStanding `json:"own_user,omitempty" doc:"With gate user: the job's own user, who holds as much or more."`

	Pilots int `json:"pilots" doc:"Pilots that pulled here in the last five minutes."`

	Remote bool `json:"remote,omitempty" doc:"With gate priority: other jobs of its share and priority come first here for a time, since it prefers queues near its inputs."`
}

// Side is one of two shares that are compared, at the level at which their paths part.
type Side struct {
	Leaf    string   `json:"leaf" doc:"The share that pays."`
	Share   string   `json:"share" doc:"Itself, or what is above it, at the level at which the two paths part."`
	Deficit float64  `json:"deficit" doc:"target - held of that, before a grant."`
	Target  *float64 `json:"target,omitempty"`
	Held    *float64 `json:"held,omitempty"`
}
