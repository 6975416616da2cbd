package lease

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Call names a question, so that its answer finds the way back.
type Call struct {
	Daemon int64  // that asked; 0: a caller of this daemon
	Number uint64 // drawn by that daemon, or by the callers of this one
}

// Key is the fence of a lease.
type Key = entry.Fence

// Renewal is a pilot's word that it still runs an attempt.
type Renewal struct {
	Key      Key
	Started  bool          // it runs it by now
	TTL      time.Duration // how long the lease lasts from now on; 0: Config.TTL
	State    State
	CPUMilli int64
	MemoryMB int64
}

// End is a word on how an attempt ended.
type End struct {
	Key      Key
	Outcome  entry.Outcome
	ExitCode int32
	CPUMilli int64
	MemoryMB int64
	Text     *ledger.Text // what people read of it, for the append's transaction; Job and Attempt are those of Key; nil: none
}

// Ask is a question of a caller: one of Pull, Renew, Finish, Seen and Left.
type Ask struct {
	Call   Call
	Pull   *machine.Pull
	Wait   time.Duration // for how long its caller waits for a job
	Renew  []Renewal
	Finish []End
	Seen   []int64 // jobs, of which is asked what their pilots last said
	Left   bool    // the caller of the pull with this Call went away
}

// Status is how an ask came out.
type Status byte

// How an ask comes out.
const (
	Done        Status = iota // it is committed: Leases, Renewed or Verdicts tell
	NoJob                     // the machine has no job for the pull
	Over                      // the request was answered before, and its leases have ended
	Unavailable               // not done, or not known to be done: ask again
	Reused                    // the request was made before with another body
)

// Answer is the answer to an Ask.
type Answer struct {
	Call     Call
	Status   Status
	Leases   []machine.Lease // of a pull
	Renewed  []Renewed       // one for each renewal
	Verdicts []Recorded
	Seen     []Seen
	Seq      int64 // of the batch on which it rests
}

// Renewed is what became of a renewal.
type Renewed struct {
	Kept  bool
	Order *machine.Order // to end the attempt; nil: it goes on
}

// Recorded is what became of an end.
type Recorded struct {
	Is      bool // the log has this outcome of the attempt; false: the lease was lost
	Outcome entry.Outcome
	Next    entry.Next // where Outcome is known
}

// Message is what one daemon tells another: all that gathered in a step.
type Message struct {
	Asks    []Ask
	Answers []Answer
	Batches []entry.Batch // that were committed, in order
	HandOn  bool          // the sender leads no more, and the receiver should claim
	Written bool          // there is a row in the outbox
}

func (m *Message) empty() bool {
	return len(m.Asks) == 0 && len(m.Answers) == 0 && len(m.Batches) == 0 && !m.HandOn && !m.Written
}

// Event is what a Node is told: an Ask or one of the types below.
type Event interface{ event() }

// Appended is the answer to Append, which the log gives exactly once.
type Appended struct {
	ID  entry.ID
	At  time.Time
	Err error // as package ledger has it
}

// Fetched is the answer to Read. Sites of Adopted entries are looked up already.
type Fetched struct {
	After   int64
	Batches []entry.Batch
	Err     error
}

// Reloaded is the answer to Reload: a machine made of the tables, as of the batch where it stands.
type Reloaded struct {
	Machine Machine
	At      time.Time       // of that batch
	Leader  int64           // who wrote that batch; 0: it is not known
	TTLs    map[int64]int32 // in seconds, of jobs whose renewals asked for one; the Node keeps the map
	Over    []entry.ID      // requests whose leases ended lately, the newest last: repeats of them get no job
	Err     error
}

// Looked is the answer to Look, one for each key.
type Looked struct {
	Call  Call
	Ended []Recorded // Is says that the attempt with this nonce ended, whatever the outcome
	Err   error
}

// Written says that a row of the outbox was committed. The leader would find it anyway, but later.
type Written struct{}

// Gathered is the answer to Gather: the oldest rows that are not marked, by their ids. Sites of Adopted entries are looked up already.
type Gathered struct {
	Number uint64
	Rows   []ledger.Row
	Err    error
}

// Folded says that the tables have all batches up to Seq.
type Folded struct{ Seq int64 }

// Received is a message of another daemon.
type Received struct {
	From    int64
	Message Message
}

// Peers are the other daemons that can be reached.
type Peers struct{ Daemons []int64 }

// Drain makes the daemon lead no more, and hand on at once if it leads. Pulls that wait are answered Unavailable.
type Drain struct{}

func (Ask) event()      {}
func (Appended) event() {}
func (Fetched) event()  {}
func (Reloaded) event() {}
func (Looked) event()   {}
func (Written) event()  {}
func (Gathered) event() {}
func (Folded) event()   {}
func (Received) event() {}
func (Peers) event()    {}
func (Drain) event()    {}

// Effect is what a Node wants done: one of the types below.
type Effect interface{ effect() }

// Append sends the batch to the log. Beside goes into the same transaction: a row that it refuses is an error of its writer.
type Append struct {
	Batch  entry.Batch
	Beside ledger.Beside
}

// Gather asks for the oldest rows of the outbox.
type Gather struct{ Number uint64 }

// Read asks for the batches after a seq.
type Read struct{ After int64 }

// Reload asks for a machine made of the tables.
type Reload struct{}

// Look asks the tables how these attempts ended.
type Look struct {
	Call Call
	Keys []Key
}

// Reply gives a caller of this daemon its answer.
type Reply struct{ Answer Answer }

// Send carries a message to another daemon. It may get lost.
type Send struct {
	To      int64
	Message Message
}

// Wake asks for a step at that time at the latest. It replaces the Wake before.
type Wake struct{ At time.Duration }

// Broken says that the log and the machine contradict each other: an operator must know.
type Broken struct {
	Seq int64
	Err error
}

func (Append) effect() {}
func (Read) effect()   {}
func (Reload) effect() {}
func (Look) effect()   {}
func (Gather) effect() {}
func (Reply) effect()  {}
func (Send) effect()   {}
func (Wake) effect()   {}
func (Broken) effect() {}
