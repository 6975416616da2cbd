package entry

import (
	"time"

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

// Entry is one thing that happened: one of the types below, by value.
type Entry interface{ kind() Kind }

// Kind is a letter for each type of entry, as the log's table has it.
type Kind byte

// The kinds of entries.
const (
	KindEnqueued Kind = 'q'
	KindGranted  Kind = 'g'
	KindStarted  Kind = 's'
	KindEnded    Kind = 'e'
	KindRevoked  Kind = 'v'
	KindWithdrew Kind = 'w'
	KindAdopted  Kind = 'a'
	KindLeader   Kind = 'L'
	KindTick     Kind = 't'
)

// KindOf is the letter of an entry.
func KindOf(e Entry) Kind { return e.kind() }

// Enqueued says that jobs are ready: those of a task, all of one share and shape, at one place in the order of their share,
// with ids between Low and High. The jobs table has them already.
type Enqueued struct {
	Task  int64
	Share shares.ShareID
	Shape int32 // their requirements
	Place int64 // lower comes first; jobs of equal place by id
	Low   int64 // ids, both included; jobs of other tasks may be between them
	High  int64
	N     int64 // how many they are
}

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

// Started says that the pilot runs the attempt.
type Started struct {
	Job     int64
	Attempt int32
}

// Outcome is how an attempt ended.
type Outcome byte

// The outcomes of an attempt.
const (
	Finished  Outcome = 'f'
	Failed    Outcome = 'x'
	Lost      Outcome = 'l' // its lease ran out
	Cancelled Outcome = 'c'
	Returned  Outcome = 'r' // by order of the dispatcher, to run elsewhere
)

// Next is what becomes of a job whose attempt ended.
type Next byte

// What becomes of a job.
const (
	Over  Next = '.' // its state is final
	Again Next = 'r' // ready again, at the same place
	Waits Next = 'w' // a rule decides later (a backoff)
)

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
	Job     int64
	Attempt int32
	Reason  string // killed, reclaim, …
	GraceS  int32  // seconds from SIGTERM to SIGKILL
}

// Withdrew says that ready jobs of a task are ready no more: killed, or moved away. N of them were at Place of (Share, Shape).
type Withdrew struct {
	Task  int64
	Share shares.ShareID
	Shape int32
	Place int64
	Low   int64
	High  int64
	N     int64
}

// Adopted says that another version of the site holds from now on. Site is the version itself, which whoever reads the log
// looks up by its number before the entry is applied: the log has the number alone.
type Adopted struct {
	Number int64
	Site   *shares.Version
}

// Leader says that the daemon that wrote the batch decides from now on.
type Leader struct{ Address string }

// Tick lets time pass.
type Tick struct{}

func (Enqueued) kind() Kind { return KindEnqueued }
func (Granted) kind() Kind  { return KindGranted }
func (Started) kind() Kind  { return KindStarted }
func (Ended) kind() Kind    { return KindEnded }
func (Revoked) kind() Kind  { return KindRevoked }
func (Withdrew) kind() Kind { return KindWithdrew }
func (Adopted) kind() Kind  { return KindAdopted }
func (Leader) kind() Kind   { return KindLeader }
func (Tick) kind() Kind     { return KindTick }
