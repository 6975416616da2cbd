package gate

import "github.com/divvyhq/divvy/dispatcher/resource"

// Refusal is what keeps a job back: a gate, what it guards, what was needed of it and what there was.
type Refusal struct {
	Gate   Gate
	Ref    string // of a limit or resource; empty: there is one only
	Needed int64
	Had    int64
}

// Gate is a kind of thing that keeps jobs back.
type Gate string

// The gates.
const (
	Site     Gate = "structural"   // the queue does not run such jobs, by what the site and the job say
	Hole     Gate = "black_hole"   // the queue fails nearly all that it gets, and gets a job now and then
	Pool     Gate = "pool"         // the capacity of the pool
	Queue    Gate = "queue"        // the slots of the queue
	Max      Gate = "share"        // the max of a share
	Targets  Gate = "target_slots" // target slots of the queue
	Lend     Gate = "lend"         // units are idle that their owner does not lend
	Borrow   Gate = "borrow"       // the share may not borrow more
	Unknown  Gate = "resource_unknown"
	Capacity Gate = "resource_capacity"
	External Gate = "resource_external"
	Reserved Gate = "resource_reserved"
	Part     Gate = "resource_allowance"
	IO       Gate = "resource_io"
	GangHold Gate = "gang_hold" // slots of the node are held for a gang
)

// gateOfRule is the gate at which a rule of a resource keeps a job back.
var gateOfRule = map[resource.Rule]Gate{resource.Capacity: Capacity, resource.External: External,
	resource.Reservation: Reserved, resource.OverItsPart: Part}
