package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// World is what a Loop needs of the rest of the daemon. Its methods may be slow, and are called from goroutines of their own.
type World interface {
	// Append appends b to the log and writes beside in its transaction. Errors are those of ledger.Log.
	Append(ctx context.Context, b entry.Batch, beside ledger.Beside) (at time.Time, err error)
	// Gather returns the oldest rows of the outbox that are not marked, at most Bounds.Rows, with the sites of Adopted entries looked up.
	Gather(ctx context.Context) ([]ledger.Row, error)
	// Read returns batches after seq, at most Bounds.Read, with the sites of Adopted entries looked up.
	Read(ctx context.Context, seq int64) ([]entry.Batch, error)
	// Reload makes a machine of the tables.
	Reload(ctx context.Context) Reloaded
	// Look asks the tables how attempts ended.
	Look(ctx context.Context, keys []Key) ([]Recorded, error)
	// Send carries a message to a daemon in the order of the calls, or loses it. It does not wait.
	Send(to int64, m Message)
	// Broken reports that log and machine contradict each other.
	Broken(seq int64, err error)
}

// ErrAway says that the daemon has no machine just now.
var ErrAway = errors.New("the daemon reads its state")

// ErrStopped says that the Loop has ended: ask another daemon.
var ErrStopped = errors.New("the daemon stops")

// Loop runs a Node: one goroutine makes all steps, and takes all events that have gathered since the last one into each.
type Loop struct {
	node  *Node
	world World
	rouse chan struct{} // one place: there are events
	done  chan struct{}

	mu     sync.Mutex
	events []Event
	sights []*sight
	calls  map[uint64]*call
	number uint64
	closed bool
}

// call is who waits for an answer.
type call struct {
	answer chan Answer         // has a place for it
	then   func(Answer, error) // is told instead, when it is parked
	stop   func() bool         // ends the look at whether the caller of one that is parked has gone
}

// NewLoop makes a Loop, which begins with Run.
func NewLoop(cfg Config, world World) *Loop {
	return &Loop{node: New(cfg), world: world, rouse: make(chan struct{}, 1), done: make(chan struct{}), calls: map[uint64]*call{}}
}

// Tell gives the Node an event that no caller waits for: Received, Peers, Written, Folded or Drain.
func (l *Loop) Tell(e Event) {
	l.mu.Lock()
	if !l.closed {
		l.events = append(l.events, e)
	}
	l.mu.Unlock()
	l.wake()
}

// wake has the loop make a step soon.
func (l *Loop) wake() {
	select {
	case l.rouse <- struct{}{}:
	default:
	}
}

// patience is how long a goroutine waits with an ask that may be parked: grants take some milliseconds, long polls minutes.
const patience = 50 * time.Millisecond

// Ask waits for the answer to an ask. When ctx ends first, the caller of a pull counts as gone: what it was granted is returned, unless it had
// a request id.
func (l *Loop) Ask(ctx context.Context, a Ask) (Answer, error) {
	out, _, err := l.AskOrPark(ctx, a, nil)
	return out, err
}

// AskOrPark is Ask that waits for patience only, if park is given. Then it calls park and returns parked: what comes of the ask is told to
// then, once, which must not block.
func (l *Loop) AskOrPark(ctx context.Context, a Ask, park func() (then func(Answer, error))) (out Answer, parked bool, err error) {
	c := &call{answer: make(chan Answer, 1)}
	if !l.note(&a, c) {
		return out, false, ErrStopped
	}
	l.Tell(a)
	var late <-chan time.Time
	if park != nil {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case out := <-c.answer:
		return out, false, nil
	case <-l.done:
		return out, false, ErrStopped
	case <-late:
		l.park(ctx, a, c, park())
		return out, true, nil
	case <-ctx.Done():
	}
	if !l.gone(a) {
		select {
		case out := <-c.answer: // it came at the same moment, and has no reader
			l.giveBack(out)
		default: // the loop has ended
		}
	}
	return out, false, ctx.Err()
}

// park has then told what comes of a call.
func (l *Loop) park(ctx context.Context, a Ask, c *call, then func(Answer, error)) {
	l.mu.Lock()
	waits := l.calls[a.Call.Number] == c
	if waits {
		c.then = then
		c.stop = context.AfterFunc(ctx, func() {
			if l.gone(a) {
				then(Answer{}, ctx.Err())
			}
		})
	}
	l.mu.Unlock()
	if waits {
		return
	}
	select {
	case out := <-c.answer: // it came at the same moment
		then(out, nil)
	default:
		then(Answer{}, ErrStopped)
	}
}

// note gives an ask its number, and notes who is told; false: the loop has ended.
func (l *Loop) note(a *Ask, c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.number++
	a.Call = Call{Number: l.number}
	l.calls[l.number] = c
	return true
}

// gone ends an ask whose caller has gone; false: he was told already.
func (l *Loop) gone(a Ask) bool {
	l.mu.Lock()
	_, ours := l.calls[a.Call.Number]
	delete(l.calls, a.Call.Number)
	l.mu.Unlock()
	if ours && a.Pull != nil {
		l.Tell(Ask{Call: a.Call, Left: true})
	}
	return ours
}

// giveBack returns leases whose answer was not delivered.
func (l *Loop) giveBack(a Answer) {
	var ends []End
	for _, lease := range a.Leases {
		if lease.Request == (entry.ID{}) {
			ends = append(ends, End{Key: keyOf(lease), Outcome: entry.Returned})
		}
	}
	if len(ends) > 0 {
		l.Tell(Ask{Finish: ends}) // call 0: no caller waits for the answer
	}
}

// Run makes steps until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer func() {
		l.mu.Lock()
		l.closed = true
		calls := l.calls
		l.calls = nil
		l.mu.Unlock()
		close(l.done)
		for _, c := range calls {
			if c.then != nil {
				c.then(Answer{}, ErrStopped)
			}
		}
		all.Wait()
	}()
	clock, timer := newClock(), time.AfterFunc(0, l.wake)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.rouse:
		}
		l.mu.Lock()
		events := l.events
		l.events = nil
		l.mu.Unlock()
		began := clock.read() // after the last event, see Node.Step
		effects := l.node.Step(began, events...)
		if l.node.granted > 0 {
			l.node.counted.Decide((clock.read() - began).Seconds())
		}
		for _, e := range effects {
			if w, ok := e.(Wake); ok {
				timer.Reset(max(0, w.At-clock.read()))
				continue
			}
			l.effect(ctx, &all, e)
		}
		l.show()
	}
}

// effect does what the Node wants done; what may take time is done elsewhere and comes back as an event.
func (l *Loop) effect(ctx context.Context, all *sync.WaitGroup, e Effect) {
	slow := func(do func() Event) {
		all.Go(func() { l.Tell(do()) })
	}
	switch e := e.(type) {
	case Append:
		slow(func() Event {
			at, err := l.world.Append(ctx, e.Batch, e.Beside)
			return Appended{e.Batch.ID, at, err}
		})
	case Read:
		slow(func() Event {
			batches, err := l.world.Read(ctx, e.After)
			return Fetched{e.After, batches, err}
		})
	case Reload:
		slow(func() Event { return l.world.Reload(ctx) })
	case Gather:
		slow(func() Event {
			rows, err := l.world.Gather(ctx)
			return Gathered{e.Number, rows, err}
		})
	case Look:
		slow(func() Event {
			ended, err := l.world.Look(ctx, e.Keys)
			return Looked{e.Call, ended, err}
		})
	case Send:
		l.world.Send(e.To, e.Message)
	case Broken:
		l.world.Broken(e.Seq, e.Err)
	case Reply:
		l.reply(e.Answer)
	}
}

// reply hands an answer to its caller, or gives back what a caller got that is gone.
func (l *Loop) reply(a Answer) {
	l.mu.Lock()
	c := l.calls[a.Call.Number]
	delete(l.calls, a.Call.Number)
	parked := c != nil && c.then != nil
	if c != nil && !parked {
		c.answer <- a
	}
	l.mu.Unlock()
	switch {
	case c == nil:
		l.giveBack(a)
	case parked:
		c.stop()
		c.then(a, nil)
	}
}
