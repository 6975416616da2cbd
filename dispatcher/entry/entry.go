package entry

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// ID names a batch or a request. The zero ID names none.
type ID [16]byte

// Batch is one row of the log: all that its writer decided while the batch before it was written.
type Batch struct {
	Seq     int64     // from 1
	ID      ID        // drawn by the writer
	After   ID        // the ID of batch Seq-1; zero for the first
	At      time.Time // the database's clock at the append; zero until then
	By      int64     // the daemon that wrote it
	Entries []Entry
}

// Entry is one thing that happened: one of the types of kinds.go, by value.
type Entry interface{ kind() Kind }

// Enqueued says that jobs are ready: those of a task with ids from Low to High, all of one share and shape, at one place in the
// order of their share. The jobs table has them already. With an attempt after the first it is about jobs that wait for it: of those
// with such ids that do not, nothing becomes, since they are over by now. They stand where the log has them by then: Share and Place
// are of the first attempt alone.
type Enqueued struct {
	Task    int64          `json:"task"`
	Share   shares.ShareID `json:"share"`
	Shape   int32          `json:"shape"` // their requirements
	Place   int64          `json:"place"` // lower comes first; jobs of equal place by id
	Low     int64          `json:"low"`   // ids, both included
	High    int64          `json:"high"`
	Attempt int32          `json:"attempt"` // that each of them has next, from 1
	User    string         `json:"user"`    // of the task
}

// Jobs is how many they are.
func (e Enqueued) Jobs() int64 { return e.High - e.Low + 1 }

// Granted says that a job has a lease from now on.
type Granted struct {
	Job     int64
	Attempt int32
	Nonce   int64 // the secret of its token
	Task    int64
	Share   shares.ShareID
	Shape   int32
	Place   int64 // from where it was taken
	Queue   shares.QueueID
	Units   shares.Units // that it holds
	Pilot   string
	Node    string
	Request ID // of the pull; zero: it had none
}

// Fence names an attempt as its pilot does: of who says another nonce nothing is taken.
type Fence struct {
	Job     int64
	Attempt int32
	Nonce   int64
}

// Fence is that of the attempt.
func (e *Granted) Fence() Fence { return Fence{e.Job, e.Attempt, e.Nonce} }

// Started says that the pilot runs the attempt.
type Started struct {
	Job     int64
	Attempt int32
	TTLS    int32 // seconds that a renewal of it asks for; 0: the default
}

// Lasting says for how long each renewal lets a lease last, where that is another time than its Started said, or it has not started yet.
type Lasting struct {
	Job     int64 `json:"job"`
	Attempt int32 `json:"attempt"`
	TTLS    int32 `json:"ttl_s"` // seconds; 0: the default
}

// Outcome is how an attempt ended.
type Outcome byte

// The outcomes of an attempt.
const (
	Finished  Outcome = 'f'
	Failed    Outcome = 'x'
	Lost      Outcome = 'l' // its lease ran out
	Cancelled Outcome = 'c'
	Returned  Outcome = 'r' // by order of the dispatcher or by its pilot, to run elsewhere
)

// Next is what becomes of a job whose attempt ended.
type Next byte

// What becomes of a job.
const (
	Over   Next = '.' // its state is final: finished, cancelled after Cancelled, else failed
	Undone Next = 'c' // its state is final: cancelled, whatever the outcome
	Again  Next = 'r' // ready again, at the same place
	Waits  Next = 'w' // a rule decides later (a backoff)
)

// Final says whether the job has no further attempt.
func (n Next) Final() bool { return n == Over || n == Undone }

// Ended says that an attempt ended, and with it its lease.
type Ended struct {
	Job      int64
	Attempt  int32
	Outcome  Outcome
	Next     Next
	ExitCode int32 // of the process; 0 where there is none
	CPUMilli int64 // milliseconds of processor time
	MemoryMB int64 // peak
}

// Revoked orders that an attempt ends: its pilot is told with its next renewal.
type Revoked struct {
	Job     int64  `json:"job"`
	Attempt int32  `json:"attempt"`
	Reason  string `json:"reason"`  // killed, reclaim, …
	GraceS  int32  `json:"grace_s"` // seconds from SIGTERM to SIGKILL
}

// Expected says how many jobs of a share and shape generators have still to make. It replaces what was said before, or comes on top of it;
// each Enqueued of them takes its jobs off the number.
type Expected struct {
	Share shares.ShareID `json:"share"`
	Shape int32          `json:"shape"`
	Jobs  int64          `json:"jobs"`
	More  bool           `json:"more,omitempty"` // on top
}

// Shaped says what a shape means. A shape is named by entries after this one only, and never changes.
type Shaped struct {
	Shape int32            `json:"shape"`
	Need  job.Requirements `json:"need"`
}

// Adopted says that another version of the site holds from now on. Site is the version itself, which whoever reads the log
// looks up by its number before the entry is applied: the log has the number alone.
type Adopted struct {
	Number int64           `json:"number"`
	Site   *shares.Version `json:"-"`
}

// Complete gives entries of Adopted their sites, where they have none yet: in place, so entries are the caller's own, as it read them.
func Complete(entries []Entry, site func(number int64) (*shares.Version, error)) error {
	for i, e := range entries {
		a, ok := e.(Adopted)
		if !ok || a.Site != nil {
			continue
		}
		var err error
		if a.Site, err = site(a.Number); err != nil {
			return err
		}
		entries[i] = a
	}
	return nil
}

// Bounded says which target slots and floors hold from now on, beside the site: all of them.
type Bounded struct {
	Targets []Target `json:"targets"`
}

// Target bounds how many cores jobs may hold at a queue, or says how many they come first for.
type Target struct {
	Queue string         `json:"queue"`
	Share shares.ShareID `json:"share"` // with all below it; 0: all
	Class string         `json:"class"` // see job.Class; empty: all
	Slots int            `json:"slots"` // cores
	Until time.Time      `json:"until"` // it ends by itself; zero: it does not
	Floor bool           `json:"floor"` // while fewer are held, these jobs come first; false: a limit
}

// Polled says that pilots pull at a queue from now on, or do so no more. What resources are wanted follows from it.
type Polled struct {
	Queue shares.QueueID `json:"queue"`
	Is    bool           `json:"is"`
}

// Leader says that the daemon that wrote the batch decides from now on.
type Leader struct {
	Address string `json:"address"`
}

// Wished says that a daemon cannot reach the one that leads, and has it stop to lead soon.
type Wished struct {
	By int64 `json:"by"`
}

// Heard says that the daemon that wrote it leads no more from this batch on, and which jobs' leases were renewed while it did.
type Heard struct {
	All  bool    `json:"all"` // any may have been, and Jobs is empty
	Jobs []int64 `json:"jobs"`
}

// Tick lets time pass: it is Now, the time of a batch that was appended before. Offered is what pilots offered lately and got no
// jobs for, where that is more than nothing: targets are made with it.
type Tick struct {
	Now     time.Time `json:"now"`
	Offered []Offer   `json:"offered,omitempty"`
}

// Offer is units that pilots of a pool offer.
type Offer struct {
	Pool  string       `json:"pool"`
	Units shares.Units `json:"units"`
}

// Asked says what the pulls asked for that the grants of its batch are of. No state follows from it: whoever reads the log makes its
// decisions again by it. It stands after them, and there is one a batch at the most.
type Asked struct {
	Pulls []Ask  `json:"pulls"` // each kind once
	Of    string `json:"of"`    // a letter a grant of the batch, in their order: A is the first of Pulls, and so on; - is not known
}

// Ask is what a pull offers and takes, beside its queue, pilot and node. Figures that are zero were not stated.
type Ask struct {
	Cores     int               `json:"cores,omitempty"`
	MemoryMB  int64             `json:"memory_mb,omitempty"`
	DiskMB    int64             `json:"disk_mb,omitempty"`
	WalltimeS int64             `json:"walltime_s,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Most      int               `json:"most,omitempty"` // jobs
	Only      *job.Only         `json:"only,omitempty"`
	Devices   []string          `json:"devices,omitempty"`
}

// Slot is what it offers.
func (a Ask) Slot() job.Slot {
	return job.Slot{Cores: a.Cores, MemoryMB: a.MemoryMB, DiskMB: a.DiskMB, WalltimeS: a.WalltimeS, Labels: a.Labels}
}
