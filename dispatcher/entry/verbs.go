package entry

import (
	"time"

	"github.com/divvyhq/divvy/shares"
)

// What people and rules want of jobs is one entry, however many jobs it is about. Those with Low and High are about the jobs of the
// task with ids between them, both included; ids of others may lie there too.

// Paused says that jobs of a task get no slots: those that are ready, and those that become so until Resumed. Leases go on.
type Paused struct {
	Task int64 `json:"task"`
}

// Resumed ends Paused. The jobs are ready at their places.
type Resumed struct {
	Task int64 `json:"task"`
}

// Killed says that nobody wants these jobs any more. Those without a lease are cancelled now. Pilots of the others are told to end them,
// as by Revoked, and their jobs are cancelled when the attempts end, unless these finished: Ended says Undone, or Over of one that finished.
// Claims of jobs that are cancelled now are dropped with it.
type Killed struct {
	Task   int64  `json:"task"`
	Low    int64  `json:"low"`
	High   int64  `json:"high"`
	Reason string `json:"reason"`
	GraceS int32  `json:"grace_s"`        // seconds from SIGTERM to SIGKILL
	Idle   bool   `json:"idle,omitempty"` // attempts run to their end, and count as ever; their jobs are not tried again
}

// Placed says that jobs stand at Place in the order of their share from now on, those that have a lease as soon as they come back.
type Placed struct {
	Task  int64 `json:"task"`
	Low   int64 `json:"low"`
	High  int64 `json:"high"`
	Place int64 `json:"place"`
}

// Moved says that jobs count for another share from now on, and stand at Place in its order.
type Moved struct {
	Task    int64          `json:"task"`
	Low     int64          `json:"low"`
	High    int64          `json:"high"`
	From    shares.ShareID `json:"from,omitempty"` // those of this share; 0: of any
	Share   shares.ShareID `json:"share"`
	Place   int64          `json:"place"`
	Running bool           `json:"running,omitempty"` // leases too; else these pay as before until they end
}

// Closed says that jobs are over that waited for a rule: failed, without another attempt. Of the jobs with such ids it is about those that
// wait. Their claims are dropped with it.
type Closed struct {
	Task int64 `json:"task"`
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Capped says which capacities of resources operators have set beside those of the site: all of them.
type Capped struct {
	Capacities []Capacity `json:"capacities"`
}

// Capacity is how many units of a resource there are.
type Capacity struct {
	Name  string         `json:"name"`
	Key   string         `json:"key,omitempty"`   // of a family; empty: of each of its keys
	Queue shares.QueueID `json:"queue,omitempty"` // 0: of each queue
	Units int64          `json:"units"`
}

// Reported is what the server of a resource says of it.
type Reported struct {
	Name    string         `json:"name"` // with its key, as in table:orders
	Queue   shares.QueueID `json:"queue,omitempty"`
	Total   int64          `json:"total"`
	Used    int64          `json:"used"`    // ours among them
	Settled int64          `json:"settled"` // of Used: those that are ours for sure
	At      time.Time      `json:"at"`
}

// Holed says that a queue fails nearly all that it gets, or does so no more. Is: it gets one job each ProbeS seconds, the first after as
// many.
type Holed struct {
	Queue  shares.QueueID `json:"queue"`
	Is     bool           `json:"is"`
	ProbeS int32          `json:"probe_s,omitempty"`
}

// Owed says that a leaf of a pool comes first for units that are reclaimed for it: so many from now on, whatever was said before, for
// half a minute.
type Owed struct {
	Pool  string         `json:"pool"`
	Share shares.ShareID `json:"share"`
	Units shares.Units   `json:"units"`
}

// Where a claim is and who holds it follows from Granted and Ended: the first grant of one of its jobs binds it, at the queue and
// node of the grant. The next entries say what does not follow.

// Claimed says that there is a claim: one that jobs of a task share, or one that people made, for jobs of any task. Said again of a claim
// of a task: so many jobs more will hold it; one that is over by then is made anew. Said again of a claim that people make: jobs wait for
// it, or people have made it anew after Unclaimed.
type Claimed struct {
	Claim     int64                `json:"claim"`
	Task      int64                `json:"task,omitempty"` // 0: of one that people made
	Key       string               `json:"key"`            // which of the claims of its task; of one that people made, its name
	Jobs      int                  `json:"jobs,omitempty"` // that will share it; of one that is there: more than those
	Template  shares.ClaimTemplate `json:"template"`
	Missing   bool                 `json:"missing,omitempty"`    // there is no template of that name, or people have not made the claim yet
	SharingID string               `json:"sharing_id,omitempty"` // whom its units are counted for,
	Label     string               `json:"label,omitempty"`      // where they are split by label
	Queue     shares.QueueID       `json:"queue,omitempty"`      // of a claim that people made: where it is
	Node      string               `json:"node,omitempty"`
	Devices   []string             `json:"devices,omitempty"`
}

// Outside says whether people made the claim.
func (e Claimed) Outside() bool { return e.Task == 0 }

// Unclaimed says that a claim is not wanted any more: its task was scaled, or people deleted it. Nobody gets to hold it from now on. It
// says nothing of one that is over already.
type Unclaimed struct {
	Claim int64 `json:"claim"`
}

// Joined says that the jobs of a task with ids from Low to High hold claims, all of them the same. It comes before the jobs are
// ready for the first time.
type Joined struct {
	Task   int64   `json:"task"`
	Low    int64   `json:"low"`
	High   int64   `json:"high"`
	Claims []int64 `json:"claims"`
	More   bool    `json:"more,omitempty"` // than the claims were made for: a retry that is a new job
}

// Dropped says that jobs without a lease are over which hold claims, or that jobs of a claim are not to be made after all.
type Dropped struct {
	Low    int64 `json:"low,omitempty"` // ids
	High   int64 `json:"high,omitempty"`
	Claim  int64 `json:"claim,omitempty"`  // 0: it is about the jobs from Low to High
	Unmade int   `json:"unmade,omitempty"` // jobs of the claim that are not to be made
}

// Took says which devices of its node the claims take that are bound by the grant of a job. It stands right before that grant.
type Took struct {
	Job     int64    `json:"job"`
	Devices []string `json:"devices"`
}
