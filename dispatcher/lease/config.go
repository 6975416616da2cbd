package lease

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Config is what a Node is made with. Zero times are the defaults of Timing.
type Config struct {
	Daemon  int64  // this one; a start has a new number
	Address string // of this daemon, for its Leader entries
	Timing  Timing
	Draw    func() entry.ID                                     // draws ids of batches
	End     func(l machine.Lease, said entry.Ended) entry.Ended // the end as it is recorded, and what becomes of the job; nil: Retried(3)
	Alone   func() bool                                         // no other daemon is open: it claims at its start without a Silence; nil: it never knows
	Led     func()                                              // called when the daemon begins to lead; may be nil
	Heard   func(b entry.Batch)                                 // called when a batch is committed and applied; may be nil
	Told    func(e entry.Entry)                                 // called when an Adopted, Tick or Granted was applied; may be nil
	Queue   func(id shares.QueueID) (q shares.Queue, ok bool)   // a queue of the site; nil: what pilots offer is not counted
	Polled  func(m Machine) []shares.QueueID                    // at which pilots pull, as the log says; nil: none
	Check   func(entries []entry.Entry) error                   // refuses what the log could not hold; nil: all can be held
	Watch   Watch                                               // called for decisions; may be nil
	Bounds  Bounds
}

// Timing has the times of a Node, all of them by its monotonic clock.
type Timing struct {
	TTL      time.Duration // of a lease
	First    time.Duration // of one that was not renewed yet, from its grant
	Rest     time.Duration // what each lease has at least after a change of leader; 0: TTL or First, whichever is longer
	Grace    time.Duration // no lease expires for so long after a time in which this daemon stood still, or could not append
	Tick     time.Duration // a leader appends at least this often
	Fresh    time.Duration // see invariant 4; less than Silence by all that two clocks may differ in it
	Silence  time.Duration // after which a follower claims; each daemon waits up to an eighth less
	Push     time.Duration // a leader tells others of batches this often at the most
	Poll     time.Duration // after which a follower reads that no push reached
	Stopped  time.Duration // a gap between two steps after which the daemon was away
	Patience time.Duration // for how long an answer waits for its commit
	Making   time.Duration // a pull that waits for jobs to be made is decided again this often
	Polled   time.Duration // for how long a pilot that does not ask any more counts as one of its queue
	Stood    time.Duration // a leader says this often where pools stand, and when it begins, and when the site is another one
	Gather   time.Duration // a leader looks for rows of the outbox at least this often
	Wish     time.Duration // a follower without a way to the leader, whose asks wait for so long, wishes to lead
	Turn     time.Duration // a leader heeds no wish before it has led for so long
	Retry    time.Duration // pause before a batch is appended again; it doubles up to eight times as long
}

// Bounds of a batch.
type Bounds struct {
	Grants   int // in a batch
	Expiries int // in a batch
	Entries  int // of rows of the outbox in a batch, but for a row that has more
	Texts    int // bytes of texts in a batch, but for an Ask that has more
	Read     int // batches that one Read returns at most, as the shell has it
	Rows     int // rows that one Gather returns at most, as the shell has it
	Requests int // ended requests that are remembered
}

func (t Timing) orDefault() Timing {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.TTL, 3 * time.Minute}, {&t.First, cmp.Or(t.TTL, 3*time.Minute)}, {&t.Grace, 90 * time.Second}, {&t.Tick, time.Second}, {&t.Fresh, 1200 * time.Millisecond},
		{&t.Silence, 1700 * time.Millisecond}, {&t.Push, 50 * time.Millisecond}, {&t.Poll, 500 * time.Millisecond}, {&t.Stopped, 3 * time.Second},
		{&t.Patience, 3 * time.Second}, {&t.Making, time.Second},
		{&t.Polled, 5 * time.Minute}, {&t.Stood, time.Minute}, {&t.Gather, time.Second}, {&t.Retry, 50 * time.Millisecond},
		{&t.Wish, 3 * time.Second}, {&t.Turn, 2 * time.Second},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	t.Rest = cmp.Or(t.Rest, max(t.TTL, t.First))
	return t
}

func (b Bounds) orDefault() Bounds {
	for _, f := range []struct {
		field *int
		value int
	}{{&b.Grants, 512}, {&b.Expiries, 1000}, {&b.Entries, 4000}, {&b.Texts, 4 << 20}, {&b.Read, 500}, {&b.Rows, 500}, {&b.Requests, 1 << 16}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return b
}

func (c Config) orDefault() Config {
	c.Timing, c.Bounds = c.Timing.orDefault(), c.Bounds.orDefault()
	if c.End == nil {
		c.End = Retried(3)
	}
	if c.Alone == nil {
		c.Alone = func() bool { return false }
	}
	if c.Led == nil {
		c.Led = func() {}
	}
	if c.Told == nil {
		c.Told = func(entry.Entry) {}
	}
	if c.Heard == nil {
		c.Heard = func(entry.Batch) {}
	}
	if c.Queue == nil {
		c.Queue = func(shares.QueueID) (q shares.Queue, ok bool) { return q, false }
	}
	if c.Polled == nil {
		c.Polled = func(Machine) []shares.QueueID { return nil }
	}
	if c.Check == nil {
		c.Check = func([]entry.Entry) error { return nil }
	}
	return c
}

// Retried is the policy without rules: a failed job runs again while it had fewer attempts than most; lost and returned ones always do, and killed ones never.
func Retried(most int32) func(machine.Lease, entry.Ended) entry.Ended {
	return func(l machine.Lease, said entry.Ended) entry.Ended {
		said.Next = entry.Over
		if o := said.Outcome; o == entry.Lost || o == entry.Returned || o == entry.Failed && l.Attempt < most {
			said.Next = entry.Again
		}
		said.Next = l.Becomes(said.Outcome, said.Next)
		return said
	}
}

// className tells pulls apart by all but their pilot, their request and how many jobs they take.
func className(p machine.Pull) string {
	s := p.Slot
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %d %d", p.Queue, s.Cores, s.MemoryMB, s.DiskMB, s.WalltimeS)
	if len(s.Labels) > 0 {
		fmt.Fprintf(&b, " %q", s.Labels) // fmt sorts maps
	}
	if !p.Only.None() {
		fmt.Fprintf(&b, " only %q %d %q", p.Only.Labels, p.Only.Task, p.Only.User)
	}
	if p.Node != "" || len(p.Devices) > 0 {
		fmt.Fprintf(&b, " at %q %q", p.Node, p.Devices)
	}
	return b.String()
}

// Watch hears what a leader is asked and decides, for people who look. It is asked by the loop, and quick.
type Watch interface {
	// Wants says whether the next decision is to say who came second, which costs as much again.
	Wants() bool
	// Decided is such a decision. It may give nothing, and its append may yet fail.
	Decided(d *machine.Decision)
	// Came is a pull, of any daemon, that waits from now on. Went is one that does so no more: how long it waited, and what it was given; the
	// append of that may yet fail.
	Came(p *machine.Pull)
	Went(p *machine.Pull, waited time.Duration, given []machine.Lease)
}

// Machine is what a Node needs of a machine.Machine.
type Machine interface {
	Apply(e entry.Entry) error
	Reach(seq int64, id entry.ID)
	Stand() (seq int64, id entry.ID)
	Now() time.Time
	Decide(p machine.Pull) machine.Decision
	Lease(job int64) (machine.Lease, bool)
	Leases() iter.Seq[machine.Lease]
	Answered(request entry.ID) []machine.Lease
	Eased() uint64
	Placed() bool
	Walltime(seconds int64) int64
	Digest() [32]byte
	Stood() []entry.Stood
}

var _ Machine = (*machine.Machine)(nil)
