package holdings

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// ResourceStanding is how a resource stands: one of each, of a resource per queue one a queue, of a keyed family one for
// each key that is held, wanted, set or reported.
type ResourceStanding struct {
	Name         string            `json:"name" doc:"As jobs ask for it: with its key in a keyed family, as table:orders."`
	Queue        string            `json:"queue,omitempty" doc:"Of a resource per queue."`
	Unknown      bool              `json:"unknown,omitempty" doc:"The site in force does not have it: jobs that ask for it wait (resource_unknown)."`
	Capacity     int64             `json:"capacity" doc:"Units that may be held at once: what was set, else what the file says."`
	FileCapacity int64             `json:"file_capacity" doc:"What the site file says."`
	Held         int64             `json:"held" doc:"Units that jobs and resource claims hold."`
	Wanted       int64             `json:"wanted" doc:"Units of ready jobs that some slot could run."`
	Free         int64             `json:"free" doc:"Units that may be granted now, less what others use outside of this site."`
	Kept         int64             `json:"kept" doc:"Of these, units that are kept for somebody for a bounded time (max_hold)."`
	SplitBy      string            `json:"split_by" enum:"user,share,label,none" doc:"What the sharing ID of a job is; none: all jobs have the same."`
	Holders      int               `json:"holders" doc:"Sharing IDs that hold a unit."`
	Waiting      int               `json:"waiting" doc:"Sharing IDs that want more than they hold."`
	External     *ResourceExternal `json:"external,omitempty" doc:"What was last reported from outside."`
	Claims       []ResourceClaim   `json:"claims,omitempty" doc:"Resource claims that hold units, the first hundred by id; not in the list of all resources."`
	IDs          []ResourceID      `json:"ids,omitempty" doc:"Those that hold or want units, by name; not in the list of all resources."`
}

// ResourceExternal is what the server of a resource last said.
type ResourceExternal struct {
	Total int64     `json:"total" doc:"Units that there are."`
	Used  int64     `json:"used" doc:"Units that anybody uses, ours too."`
	At    time.Time `json:"at" doc:"When it was reported."`
	Stale bool      `json:"stale" doc:"It is older than external_expires and does not count."`
}

// ResourceID is how a sharing ID stands with a resource.
type ResourceID struct {
	resource.Allowance
	Why      resource.Rule `json:"why,omitempty" enum:",capacity,external,reservation,allowance" doc:"What keeps its next unit from it now; absent: nothing does, or it wants none."`
	ByClaims int64         `json:"by_claims,omitempty" doc:"Of the units that it holds, those that resource claims of its jobs do."`
	KeptFor  []string      `json:"kept_for,omitempty" doc:"Of reservation and allowance: for whom the free units are kept, who waited longest first."`
}

// ResourceClaim is a resource claim that holds units of a resource, once for all jobs that share it.
type ResourceClaim struct {
	ID        int64  `json:"id"`
	Task      int64  `json:"task"`
	Key       string `json:"key" doc:"Which of the task's claims."`
	SharingID string `json:"sharing_id" doc:"Whom the units are counted for."`
	Units     int64  `json:"units"`
	Queue     string `json:"queue" doc:"Where it is bound."`
	Node      string `json:"node,omitempty"`
	Sharers   int    `json:"sharers" doc:"Jobs that hold it."`
}

// GangHold is a node of which slots wait for a gang.
type GangHold struct {
	Queue   string    `json:"queue"`
	Node    string    `json:"node"`
	Task    int64     `json:"task"`
	Claim   int64     `json:"claim" doc:"That the jobs of the gang share."`
	Key     string    `json:"key"`
	Members int       `json:"members" doc:"Jobs that start together."`
	Slots   int       `json:"slots" doc:"Pulls that wait for it."`
	Cores   int64     `json:"cores" doc:"Of these."`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until" doc:"From then on anybody may have them."`
	Why     string    `json:"why" doc:"What is missing."`
}
