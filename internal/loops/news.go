package loops

import (
	"context"
	"sync"
	"time"
)

// There is news when what is done in steps may have changed: the log says so, tables were made of it, a verb or a step has done something, here or on
// another daemon, or there is another site. After it a step keeps to its pace for a while, in which also all is there that follows from it.
// While there is none, whatever happened before was found by then: a step looks now and then only, for what nobody told.
const (
	newsHolds = 6 * time.Second  // longer than generators go by what they have read
	newsNone  = 10 * time.Second // from one look to the next
	newsEvery = time.Second      // others are told at most so often
)

// News is what a daemon has heard, and what passes hints on to the loops that asked for them.
type News struct {
	by map[string][]chan struct{} // who is woken, by hint

	mu    sync.Mutex
	hears bool          // what other daemons say arrives; else there may be news at any time
	last  time.Time     // news
	next  chan struct{} // closed by the next news; nil: nobody waits for it
	here  chan struct{} // has something: other daemons are to be told
}

// NewNews is that of a daemon that has heard nothing.
func NewNews() *News { return &News{by: map[string][]chan struct{}{}, here: make(chan struct{}, 1)} }

// Tell is quick.
func (n *News) Tell() { n.heed(func() {}) }

// Hear says whether what other daemons say arrives. What they said before is lost.
func (n *News) Hear(arrives bool) { n.heed(func() { n.hears = arrives }) }

func (n *News) heed(note func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	note()
	n.last = time.Now()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// Done is news of this daemon that others may not find in the log.
func (n *News) Done() {
	n.Tell()
	select {
	case n.here <- struct{}{}:
	default:
	}
}

// None is closed by the next news; nil while there is some, and where some came since a step began.
func (n *News) None(began time.Time) <-chan struct{} {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.hears || time.Since(n.last) < newsHolds || n.last.After(began) {
		return nil
	}
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// Spread says to other daemons what is news here, until ctx ends.
func (n *News) Spread(ctx context.Context, say func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.here:
		}
		say(ctx)
		if !Pause(ctx, newsEvery) {
			return
		}
	}
}

// On returns a channel that gets something soon after any of these hints. Hints that come close together are
// one. Call it before Wake is called.
func (n *News) On(hints ...string) <-chan struct{} {
	c := make(chan struct{}, 1)
	for _, h := range hints {
		n.by[h] = append(n.by[h], c)
	}
	return c
}

// Wake passes one hint on; "" stands for all, after a connection was lost.
func (n *News) Wake(hint string) {
	for h, cs := range n.by {
		if hint != "" && h != hint {
			continue
		}
		for _, c := range cs {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}
