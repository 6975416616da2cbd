package tape

import (
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Entry is one line of a tape. Exactly one field is set.
type Entry struct {
	Begin      *Begin      `json:"begin,omitempty"`
	Adopt      *Adopt      `json:"adopt,omitempty"`
	Shape      *Shape      `json:"shape,omitempty"`
	Ready      *Ready      `json:"ready,omitempty"`
	Withdrawn  *Ready      `json:"withdrawn,omitempty"`
	Ended      *Ended      `json:"ended,omitempty"`
	Moved      *Moved      `json:"moved,omitempty"`
	Backlog    *Backlog    `json:"backlog,omitempty"`
	Awaited    *Key        `json:"awaited,omitempty"`
	Remembered *Remembered `json:"remembered,omitempty"`
	Seen       *Seen       `json:"seen,omitempty"`
	Elder      *Elder      `json:"elder,omitempty"`
	Pull       *Pull       `json:"pull,omitempty"`
	TakeBack   *TakeBack   `json:"takeback,omitempty"`
}

// Begin is the first entry: settings of the dispatcher.
type Begin struct {
	LocalWaitMS int64 `json:"local_wait_ms"` // how long jobs that prefer to be near their inputs come last elsewhere
	AtUS        int64 `json:"at_us"`         // microseconds since 1970: up to when memory has been counted
}

// Adopt says that a version of the site is in force from now on.
type Adopt struct {
	Number int64           `json:"number"`
	AtUS   int64           `json:"at_us"`          // microseconds since 1970: the moment of the plans in force
	Site   *shares.Version `json:"site,omitempty"` // with the figures of that moment, without Attempts; nil: the same as before

	Targets []Target `json:"targets,omitempty"` // target slots and floors in force
}

// Target bounds the cores that may be held at a queue, or is a floor under them.
type Target struct {
	Queue string         `json:"queue"`           // its name
	Share shares.ShareID `json:"share,omitempty"` // with all below it; 0: all shares
	Class string         `json:"class,omitempty"` // see job.Classes; empty: all
	Slots int            `json:"slots"`
	Floor bool           `json:"floor,omitempty"`
}

// Shape says what the jobs of a shape require.
type Shape struct {
	ID    int32            `json:"id"`
	Plain int32            `json:"plain,omitempty"` // the same shape of anybody's jobs, where this one names a user
	Need  job.Requirements `json:"need"`
}

// Key names the jobs of one share and shape.
type Key struct {
	Share shares.ShareID `json:"share"`
	Shape int32          `json:"shape"`
}

// Span is a range of ids, both ends included.
type Span [2]int64

// Ready says which jobs of a task are ready at a place from now on; as Withdrawn, which are not any more.
type Ready struct {
	Task  int64  `json:"task"`
	User  string `json:"user,omitempty"` // whose task it is
	Key          // of the jobs
	Place int64  `json:"place"` // lower comes first; jobs of equal place by id
	Jobs  []Span `json:"jobs"`
	Made  bool   `json:"made,omitempty"` // nobody counted them before under this share, shape and place
}

// What becomes of a job whose lease ended.
const (
	Over  = "."
	Again = "r" // it is ready again
	Waits = "w"
)

// Ended says that a lease ended.
type Ended struct {
	Job   int64  `json:"job"`
	Next  string `json:"next"`
	Place int64  `json:"place,omitempty"` // with Again
}

// Moved says that leases count for another share or shape from now on, and so do their jobs if they are ready again.
type Moved struct {
	From Key    `json:"from"`
	To   Key    `json:"to"`
	Jobs []Span `json:"jobs"`
}

// Backlog says how many jobs of a share and shape are still to be made.
type Backlog struct {
	Key
	N int64 `json:"n"`
}

// Remembered says that the time up to a moment counts for what shares have missed.
type Remembered struct {
	AtUS   int64                   `json:"at_us"`  // microseconds since 1970
	Rounds map[string]shares.Units `json:"rounds"` // by pool: R of the targets that are compared with what is held
}

// Seen says whether pilots ask at a queue: what jobs want of resources counts only where they could run.
type Seen struct {
	Queue shares.QueueID `json:"queue"`
	Some  bool           `json:"some"`
}

// Elder says up to which id jobs are so old that they come last nowhere.
type Elder struct {
	UpTo int64 `json:"up_to"`
}

// The verdicts on a pull.
const (
	Given  = "given"  // as many jobs as it may have, or all that there are for it
	None   = "none"   // there is no job for it
	Making = "making" // the share that comes first has only jobs that are still to be made, and the pull waits for them
	Undone = "undone" // more had to be known: the grants are taken back by the entries that follow, and it is decided again
	Cut    = "cut"    // more had to be known, but it keeps what it got
)

// Pull is a decision.
type Pull struct {
	Number  int64          `json:"n"` // of the pull: it may be decided several times
	Queue   shares.QueueID `json:"queue"`
	Pilot   string         `json:"pilot"`
	Node    string         `json:"node,omitempty"`
	Devices []string       `json:"devices,omitempty"`
	Slot    job.Slot       `json:"slot"`
	Max     int            `json:"max"` // jobs at the most
	Only    *job.Only      `json:"only,omitempty"`
	AtUS    int64          `json:"at_us,omitempty"` // microseconds since 1970, where jobs have asked for resources

	Blocked int     `json:"blocked,omitempty"` // attempts before this one that had to wait for a read, and gave nothing
	Verdict string  `json:"verdict"`
	Lacked  string  `json:"lacked,omitempty"` // the last kind of limit that kept somebody back
	Grants  []Grant `json:"grants,omitempty"`
	Passed  []Pass  `json:"passed,omitempty"`
}

// Grant is a job that a pull got.
type Grant struct {
	Job     int64 `json:"job"`
	Attempt int32 `json:"attempt"`
	Key
	Units shares.Units `json:"units"`
	Floor bool         `json:"floor,omitempty"` // the share came first by a floor

	// The contest, to understand a difference: how far the winner and the next one were below their targets, in units.
	Deficit    float32        `json:"d"`
	Next       shares.ShareID `json:"next,omitempty"` // 0: nobody else had a job for the slot
	NextLacked float32        `json:"nd,omitempty"`
}

// Pass says that a share whose jobs of a shape are still to be made came first and was not waited for, nor will be until
// Awaited says so.
type Pass struct {
	Key
	After int `json:"after"` // grants of the pull
}

// TakeBack undoes a grant: the job is ready again where it was, and who was granted something last is as it was before.
type TakeBack struct {
	Job  int64 `json:"job"`
	Gone bool  `json:"gone,omitempty"` // somebody else had the job: it is not given until it is Ready anew
}
