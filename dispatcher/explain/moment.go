package explain

import (
	"iter"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/wanted"
	"github.com/divvyhq/divvy/shares"
)

// Moment is a machine as it stands, with what its daemon knows beside it.
type Moment struct {
	View    machine.View
	At      time.Time                                  // by the clock of the daemon that decides
	Pulls   Pulls                                      // at queues; nil: not needed
	AtNodes map[resource.Place]Waits                   // pulls that wait, at nodes of which slots are held for gangs
	Offered map[string]shares.Units                    // by pilots that got no jobs for it, by pool
	Holes   map[shares.QueueID]retry.BlackHoleStanding // queues that fail nearly all that they get
	Ends    []EndRate                                  // of the last minutes
	Starts  map[Kind]float64                           // jobs a minute, of the last minutes
	Wanted  map[shares.QueueID]wanted.Pilots           // at queues with a provision
	Waited  map[int64]float64                          // seconds since the task of a job was submitted, by job; see Heads
}

// Pulls knows the pulls at queues.
type Pulls interface {
	// PullsAt counts the pilots that pulled in the last five minutes, and the pulls that wait for a job.
	PullsAt(q shares.QueueID) (pilots, waiting int)
	// FreeAt counts the cores of the pulls that wait.
	FreeAt(q shares.QueueID) (cores int64)
	// PilotsAt lists these pilots. Nothing else is to be asked meanwhile.
	PilotsAt(q shares.QueueID) iter.Seq[Pilot]
}

// BlackHoleStanding is how a queue stands that fails nearly all that it gets.
type BlackHoleStanding = retry.BlackHoleStanding

// Pilot is what a pilot takes, and where it is.
type Pilot struct {
	Only    *job.Only // nil: any job
	Node    string    // empty: it does not say
	Devices []string
}

// Waits are pulls that wait at a node.
type Waits struct {
	Slots int
	Cores int64
}

// EndRate is how fast attempts of a share ended at a queue lately.
type EndRate struct {
	Queue     shares.QueueID
	Share     shares.ShareID
	PerSecond float64
	UnitsPerS float64 // thousandths
}

// Kind names the jobs of a share that have one shape.
type Kind struct {
	Share shares.ShareID
	Shape int32
	User  string // where the share gives turns
}

// poolsOf lists the pools in the order of their first queue.
func poolsOf(site shares.Version) (names []string) {
	for _, q := range site.Queues {
		if !slices.Contains(names, q.Pool) {
			names = append(names, q.Pool)
		}
	}
	return names
}

// pathOf is the path of a share; empty for the whole tree.
func pathOf(site shares.Version, id shares.ShareID) string {
	if node, ok := site.Tree.ByID(id); ok && id != 0 {
		return site.Tree.Nodes[node].Path
	}
	return ""
}
