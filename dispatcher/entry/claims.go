package entry

import "github.com/divvyhq/divvy/shares"

// Where a claim is and who holds it follows from Granted and Ended: the first grant of one of its jobs binds it, at the queue and
// node of the grant. The entries in here say what does not follow.

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
