package explain

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// Moment is a machine as it stands, with what its daemon knows beside it.
type Moment struct {
	View    machine.View
	At      time.Time                                  // by the clock of the daemon that decides
	Pilots  map[shares.QueueID][]Pilot                 // that pulled in the last five minutes
	Pulls   map[shares.QueueID]int                     // that wait for a job
	AtNodes map[resource.Place]Waits                   // of these, those at nodes of which slots are held for gangs
	Offered map[string]shares.Units                    // by pilots that got no jobs for it, by pool
	Holes   map[shares.QueueID]retry.BlackHoleStanding // queues that fail nearly all that they get
	Ends    []EndRate                                  // of the last minutes
	Starts  map[Kind]float64                           // jobs a minute, of the last minutes
	Waited  map[int64]float64                          // seconds since the task of a job was submitted, by job; see Heads
}

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
	seen := map[string]bool{}
	for _, q := range site.Queues {
		if !seen[q.Pool] {
			seen[q.Pool] = true
			names = append(names, q.Pool)
		}
	}
	return names
}

// queueOf finds a queue of the site.
func queueOf(site shares.Version, id shares.QueueID) (q shares.Queue, ok bool) {
	for _, q := range site.Queues {
		if q.ID == id {
			return q, true
		}
	}
	return q, false
}

// pathOf is the path of a share; empty for the whole tree.
func pathOf(site shares.Version, id shares.ShareID) string {
	if node, ok := site.Tree.ByID(id); ok && id != 0 {
		return site.Tree.Nodes[node].Path
	}
	return ""
}

// Fits lists the queues that could run jobs with these requirements, and for the others the first gate that fails. Which
// shares a queue runs is not asked.
func (m Moment) Fits(r job.Requirements) (queues []string, reasons map[string]string) {
	reasons = map[string]string{}
	for _, q := range m.View.Site.Queues {
		if reason := job.Fits(r, q, q.Labels); reason != "" {
			reasons[q.Name] = reason
		} else {
			queues = append(queues, q.Name)
		}
	}
	return queues, reasons
}
