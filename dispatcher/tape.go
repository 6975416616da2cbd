package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/shares"
)

// taping tells a listener all that decisions follow from, and the decisions, in the order in which Dispatcher.mu is held: so tests
// record what the machine is held against that comes after (package tape). nil: nobody listens.
type taping struct{ to listener }

// listener is called while Dispatcher.mu is held.
type listener interface {
	began(d *Dispatcher)                       // with a state in which nothing is adopted
	adopted(s *state)                          // a version of the site
	knew(sh *shape)                            // a shape
	moves(s *state, m move)                    // is about to be counted, and is no grant of this daemon; an end has the job's id as low and high
	backlog(key windowKey, n int64)            // jobs to come
	remembers(now time.Time)                   // what shares have missed
	pilots(q shares.QueueID, some bool)        // there are some at a queue
	met(p *pull, g *group, waits bool)         // the present decision waits for its jobs to be made, or passes it
	decided(p *pull, n *needs, found decision) // on a pull, whose grants are counted
	tookBack(g *grant, gone bool)              // a grant; gone: somebody else has its job
}

func (t *taping) began(d *Dispatcher) {
	if t != nil {
		t.to.began(d)
	}
}

func (t *taping) adopted(s *state) {
	if t != nil {
		t.to.adopted(s)
	}
}

func (t *taping) knew(sh *shape) {
	if t != nil {
		t.to.knew(sh)
	}
}

func (t *taping) moves(s *state, m move) {
	if t != nil {
		t.to.moves(s, m)
	}
}

func (t *taping) backlog(key windowKey, n int64) {
	if t != nil {
		t.to.backlog(key, n)
	}
}

func (t *taping) remembers(now time.Time) {
	if t != nil {
		t.to.remembers(now)
	}
}

func (t *taping) pilots(q shares.QueueID, some bool) {
	if t != nil {
		t.to.pilots(q, some)
	}
}

func (t *taping) met(p *pull, g *group, waits bool) {
	if t != nil {
		t.to.met(p, g, waits)
	}
}

func (t *taping) decided(p *pull, n *needs, found decision) {
	if t != nil {
		t.to.decided(p, n, found)
	}
}

func (t *taping) tookBack(g *grant, gone bool) {
	if t != nil {
		t.to.tookBack(g, gone)
	}
}
