package machine

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// Machine is the state of the dispatcher. Make one with New; it is for one goroutine at a time.
type Machine struct {
	*state
	seq int64
	id  entry.ID
}

// Config is how long things take that the log does not say.
type Config struct {
	LocalWait time.Duration // jobs that prefer to be near their inputs come last elsewhere for it
	GangHold  time.Duration // slots of a node are held for a gang for it; 0: resource.DefaultGangHold
	Making    time.Duration // how long pulls wait for jobs to be made while none are; for the jobs of one share five times as long
}

// New is the machine of an empty log, with a site that has no queues.
func New(c Config) *Machine {
	m := &Machine{state: newState(c)}
	tree, _ := shares.Build(nil)
	m.build(books.Source{File: shares.Version{Tree: tree}})
	return m
}

// Apply counts an entry. An error says why it cannot follow what was applied before; then nothing was changed.
func (m *Machine) Apply(e entry.Entry) error {
	var err error
	switch e := e.(type) {
	case entry.Enqueued:
		err = m.enqueue(e)
	case entry.Granted:
		err = m.grant(e)
	case entry.Started:
		err = m.leases.Start(e, m.now)
	case entry.Lasting: // its leader counts the time
		_, err = m.leases.Attempt(e.Job, e.Attempt)
	case entry.Ended:
		err = m.end(e)
	case entry.Revoked:
		err = m.leases.Revoke(e)
	case entry.Paused, entry.Resumed, entry.Killed, entry.Placed, entry.Moved, entry.Closed:
		err = verbs{m.state}.verb(e)
	case entry.Expected:
		err = m.expect(e)
	case entry.Shaped:
		err = m.know(e)
	case entry.Adopted:
		if e.Site == nil {
			err = fmt.Errorf("version %d of the site: it was not looked up", e.Number)
			break
		}
		from := m.site.Source
		from.File = *e.Site
		m.adopt(from)
		err = m.sorts.claim(e)
	case entry.Bounded:
		from := m.site.Source
		from.Targets = e.Targets
		m.adopt(from)
	case entry.Capped:
		from := m.site.Source
		from.Capped = &e
		m.adopt(from)
	case entry.Reported:
		m.supplies.Report(e, m.now)
		m.eased++
	case entry.Holed:
		m.holes.Follow(e, m.now)
		m.eased++
	case entry.Owed:
		m.site.Owe(e, m.now)
		m.eased++
	case entry.Polled:
		m.supplies.poll(e)
	case entry.Stood:
		m.stand(e)
	case entry.Tick:
		if m.tick(e) {
			err = m.sorts.claim(e)
		}
	case entry.Claimed, entry.Unclaimed, entry.Joined, entry.Dropped, entry.Took:
		err = m.sorts.claim(e)
	case entry.Leader, entry.Asked, entry.Wished, entry.Heard:
	default:
		err = errors.New("this version has no such entry")
	}
	if err != nil {
		return fmt.Errorf("%T: %w", e, err)
	}
	return nil
}

// Advance applies a batch, which has to be the one after that at which the machine stands.
func (m *Machine) Advance(b entry.Batch) error {
	if b.Seq != m.seq+1 || b.After != m.id {
		return fmt.Errorf("batch %d does not follow batch %d", b.Seq, m.seq)
	}
	for i, e := range b.Entries {
		if err := m.Apply(e); err != nil {
			return fmt.Errorf("batch %d, entry %d: %w", b.Seq, i, err)
		}
	}
	m.Reach(b.Seq, b.ID)
	return nil
}

// Reach says that all entries up to a batch have been applied.
func (m *Machine) Reach(seq int64, id entry.ID) { m.seq, m.id = seq, id }

// Stand is the batch that the machine has reached.
func (m *Machine) Stand() (seq int64, id entry.ID) { return m.seq, m.id }

// Now is the time of the last Tick.
func (m *Machine) Now() time.Time { return m.now }

// Eased rises when a pull that got nothing might get something now.
func (m *Machine) Eased() uint64 { return m.eased }

// Placed says whether a decision may depend on the node of its pull, or on its devices: there are claims.
func (m *Machine) Placed() bool { return m.claims.Any() }

// Lease is the lease of a job; false if it has none.
func (m *Machine) Lease(job int64) (Lease, bool) { return m.leases.Of(job) }

// Leases are all leases, in no order.
func (m *Machine) Leases() iter.Seq[Lease] { return m.leases.All() }

// Answered are the leases that a request was granted and that have not ended, in the order of the grants.
func (m *Machine) Answered(request entry.ID) []Lease { return m.leases.Answered(request) }

// Queue finds a queue of the site by name.
func (m *Machine) Queue(name string) (shares.Queue, bool) {
	q := m.site.ByName[name]
	if q == nil {
		return shares.Queue{}, false
	}
	return q.Queue, true
}

// Site is the version in force, its tree with the plans of this moment.
func (m *Machine) Site() shares.Version { return m.site.Version }

// Pull is what a slot offers and takes.
type Pull struct {
	Queue    shares.QueueID
	Slot     job.Slot
	Most     int // jobs; 0: one
	Only     job.Only
	Pilot    string
	Node     string
	Devices  []string
	Request  entry.ID  // zero: it has none
	Nonce    int64     // seed of the secrets of its leases
	Until    time.Time // when its wait is over, by the clock of At
	Contests bool      // the decision says who came second
	Beside   []*Pull   // that wait at the same queue and node, the oldest first: a gang may start in all of them at once
	At       time.Time // the caller's clock; zero: that of the last Tick
}

// Verdict is what came of a decision.
type Verdict int

// The verdicts.
const (
	None   Verdict = iota // no job that the slot may run is ready
	Given                 // at least one job was granted
	Unmade                // the jobs that come first are still to be made
	Held                  // a gang holds the slot until more of its node ask for jobs, up to Decision.Until
)

// Decision is what a pull gets. Entries are applied already; their order is that in which they were decided.
type Decision struct {
	Verdict  Verdict
	Entries  []entry.Entry
	Lacked   Refusal   // what kept jobs back from a pull that got none
	Passed   int       // leaves whose jobs are not made yet and were not waited for
	Contests []Contest // of the grants, where the pull asks for them
	To       []int     // by entry: whose it is, 0 of the pull, i of Pull.Beside[i-1]. nil: all are the pull's
	Until    time.Time // of Held: when the slot is for others
}

// Contest is the choice of a grant beside the one that would have been made without its leaf. Leaves are nodes of Site's tree. Where a
// floor or owed units came first, the runner-up is the leaf that the tree says, and has the larger deficit.
type Contest struct {
	shares.Contest
	Rule       string       // why the leaf came first: share, floor or owed
	Round      shares.Units // R
	Candidates int          // leaves with a job for the slot
	Unfit      int          // leaves whose ready jobs do not fit the slot
	Barred     int          // leaves whose jobs a gate keeps back
	Skipped    []Skipped    // the first of both that stood before the tree's choice
	Trail      []float64    // deficits in thousandths, from the top level down to the winner
}

// Lease is the right to run one attempt of a job; see running.Lease.
type Lease = running.Lease

// Order is that an attempt ends; see running.Order.
type Order = running.Order

// Refusal is what keeps a job back; see gate.Refusal.
type Refusal = gate.Refusal
