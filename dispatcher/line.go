package dispatcher

import (
	"container/heap"
	"container/list"
	"context"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// line holds the pulls that are not decided, by class. Guarded by Dispatcher.mu.
type line struct {
	classes map[string]*class
	awake   awake                                  // classes that a decision is worth trying for
	places  map[resource.Place]map[*class]struct{} // the classes of pulls of a node
}

// class is a set of pulls for which a decision comes out alike.
type class struct {
	name    string
	queue   string
	place   resource.Place // of its pulls, where they are told apart by node; zero: they are not
	pulls   list.List      // of *pull, oldest first
	fresh   pullSet        // of them, those with a request id that was not looked up yet
	overdue pullSet        // of them, those whose wait ended while the class was awake or blocked
	awake   bool
	turn    int64     // while awake: the number of its first pull when it woke
	only    narrowKey // of its pulls
	lacked  string    // when last tried, the kind of hard limit that left out a window
	blocked bool      // when last tried, a read or a take was needed
}

// pullSet is some of the pulls of a class. Who leaves the class leaves it too: an answered pull has all its leases.
type pullSet map[*pull]struct{}

func (s *pullSet) add(p *pull) {
	if *s == nil {
		*s = pullSet{}
	}
	(*s)[p] = struct{}{}
}

// short says whether more units under some limit might help.
func (c *class) short() bool { return c.lacked != "" }

func newLine() line {
	return line{classes: map[string]*class{}, places: map[resource.Place]map[*class]struct{}{}}
}

// add puts a pull at the end of its class. A class that sleeps was found empty and nothing has changed since:
// it is not tried again for the newcomer.
func (l *line) add(d *Dispatcher, p *pull) {
	c := l.classes[p.class]
	if c == nil {
		c = &class{name: p.class, queue: p.req.Queue, only: narrowOf(p.req.Only)}
		l.classes[p.class] = c
		l.put(c, p)
		p.at = c.pulls.PushBack(p)
		l.wake(c)
	} else {
		p.at = c.pulls.PushBack(p)
		if len(d.state.gangs.open) > 0 && c.place.Node != "" {
			l.wake(c) // what one slot is too small for, both may take
		}
	}
	if p.hash != nil && p.recall == notRecalled {
		c.fresh.add(p)
		if !c.awake && !c.blocked {
			c.recallFresh(d)
		}
	}
}

// put notes the node of a new class.
func (l *line) put(c *class, p *pull) {
	if !p.byNode || p.req.Node == "" {
		return
	}
	c.place = placeOf(p)
	if l.places[c.place] == nil {
		l.places[c.place] = map[*class]struct{}{}
	}
	l.places[c.place][c] = struct{}{}
}

// drop forgets a class.
func (l *line) drop(c *class) {
	delete(l.classes, c.name)
	if at := l.places[c.place]; at != nil {
		delete(at, c)
		if len(at) == 0 {
			delete(l.places, c.place)
		}
	}
}

// again puts a pull whose grant came to nothing in front of its class.
func (l *line) again(d *Dispatcher, p *pull) {
	p.taken, p.grants = false, nil
	if p.gone {
		return
	}
	switch {
	case p.left: // nobody would take it off the line again
		d.finishPull(p, nil, context.Canceled)
		return
	case d.stopping:
		d.finishPull(p, nil, ErrStopping)
		return
	}
	l.add(d, p)
	c := l.classes[p.class]
	c.pulls.MoveToFront(p.at)
	if p.over {
		c.overdue.add(p)
	}
	l.wake(c)
}

func (l *line) remove(p *pull) {
	if c := l.classes[p.class]; c != nil && p.at != nil {
		c.remove(p)
		if c.pulls.Len() == 0 && !c.awake {
			l.drop(c)
		}
	}
}

func (l *line) wake(c *class) {
	if !c.awake && !c.blocked {
		c.awake, c.turn = true, 0
		if first := c.pulls.Front(); first != nil {
			c.turn = first.Value.(*pull).number
		}
		heap.Push(&l.awake, c)
	}
}

// stir wakes the classes that the test selects: something changed that may matter to them.
func (l *line) stir(may func(*class) bool) {
	for _, c := range l.classes {
		if may(c) {
			l.wake(c)
		}
	}
}

// stirAt wakes the classes of pulls of a node.
func (l *line) stirAt(place resource.Place) {
	for c := range l.places[place] {
		l.wake(c)
	}
}

// unblock wakes all that waited for a read or a take; with an error they are answered with it.
func (l *line) unblock(d *Dispatcher, err error) {
	for _, c := range l.classes {
		if !c.blocked {
			continue
		}
		c.blocked = false
		if err != nil {
			c.refuse(d, err)
		}
		l.wake(c)
	}
}

// next takes pulls off the line, those of the class with the oldest one first, until most jobs are granted or nothing more can be decided.
func (l *line) next(d *Dispatcher, most int, n *needs) (batch []*pull) {
	granted := 0
	for len(l.awake) > 0 && granted < most {
		c := l.first()
		verdict := given
		for verdict == given && c.pulls.Len() > 0 && granted < most {
			p := c.pulls.Front().Value.(*pull)
			if verdict = d.decide(p, c, n); verdict == given {
				l.takeOff(c, p)
				granted += len(p.grants)
				batch = append(batch, p)
			}
			for _, o := range n.gathered { // off the line already
				granted += len(o.grants)
				batch = append(batch, o)
			}
			n.gathered = nil
		}
		if verdict == given && c.pulls.Len() > 0 {
			l.wake(c) // the batch is full
		}
		if c.pulls.Len() == 0 && !c.awake {
			l.drop(c)
		}
	}
	return batch
}

func (l *line) takeOff(c *class, p *pull) {
	c.remove(p)
	p.taken = true
}

func (c *class) remove(p *pull) {
	c.pulls.Remove(p.at)
	p.at = nil
	delete(c.fresh, p)
	delete(c.overdue, p)
}

// mostRetries is how often a pull that could be served in part waits for more to be known.
const mostRetries = 100

// decide tries the first pull of a class and notes how that went.
func (d *Dispatcher) decide(p *pull, c *class, n *needs) decision {
	q := d.state.byName[c.queue]
	switch {
	case q == nil:
		c.refuse(d, ErrUnknownQueue)
		return none
	case q.State != shares.Online && q.State != shares.Test:
		c.refuse(d, ErrQueueClosed)
		return none
	}
	n.lacked = ""
	var verdict decision
	if h := d.state.holes[q.ID]; h != nil {
		verdict = d.decideHole(p, h, n)
	} else {
		verdict = d.state.decide(p, n)
	}
	d.state.diary.tape.decided(p, n, verdict)
	if verdict == blocked && len(p.grants) > 0 {
		// It could have more as soon as a read or a take has come back: all is put back until then. Where others
		// are always faster the pilot gets what there was, and comes back for the rest.
		if p.retries++; p.retries > mostRetries {
			verdict = given
		} else {
			d.unGrant(p)
		}
	}
	c.lacked, c.blocked = n.lacked, verdict == blocked
	if n.passed > 0 {
		d.metrics.passed.Add(float64(n.passed))
		n.passed = 0
	}
	if verdict == none {
		c.recallFresh(d)
		for late := range c.overdue {
			d.sayNone(late)
		}
		c.overdue = nil
	}
	return verdict
}

// refuse answers all pulls of a class.
func (l *line) refuse(d *Dispatcher, err error) {
	for _, c := range l.classes {
		c.refuse(d, err)
	}
}

func (c *class) refuse(d *Dispatcher, err error) {
	for e := c.pulls.Front(); e != nil; e = c.pulls.Front() {
		p := e.Value.(*pull)
		c.remove(p)
		d.finishPull(p, nil, err)
	}
}

// recallFresh looks up pulls that are about to wait: they may be repeats of one that was answered.
func (c *class) recallFresh(d *Dispatcher) {
	for p := range c.fresh {
		d.lookUp(p)
	}
	c.fresh = nil
}

// expire is called when a pull's wait is over.
func (l *line) expire(d *Dispatcher, p *pull) {
	p.over = true
	if p.gone || p.taken {
		return // when its grant comes to nothing, again puts it among the overdue
	}
	if c := l.classes[p.class]; c != nil && (c.blocked || c.awake) {
		c.overdue.add(p) // the decision that comes says it
		return
	}
	d.sayNone(p)
}

// sayNone answers "no job", unless it is still being looked up whether the pull is a repeat, or what this daemon
// knows is older than the pull: then the ledger is read once more first.
func (d *Dispatcher) sayNone(p *pull) {
	if p.gone || p.taken || p.recall == recalling {
		return
	}
	if !d.fresh.After(p.arrived) {
		d.unsure = append(d.unsure, p)
		if !d.freshening {
			d.freshening = true
			d.work.Go(d.freshen)
		}
		return
	}
	reason := "no_job"
	if c := d.line.classes[p.class]; c != nil && c.short() {
		if reason = c.lacked; reason != gangHeld && reason != holeHeld && !strings.HasPrefix(reason, "resource_") {
			reason += "_limit"
		}
	}
	d.metrics.refusals.by(reason).Inc()
	d.line.remove(p)
	d.finishPull(p, nil, ErrNoJobs)
}

// freshen reads what the others have committed, for pulls that are about to be told that there is no job.
func (d *Dispatcher) freshen() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
		_, err := d.Refresh(ctx)
		cancel()
		d.mu.Lock()
		unsure := d.unsure
		d.unsure = nil
		for _, p := range unsure {
			if err != nil && !p.gone && !p.taken {
				d.line.remove(p)
				d.finishPull(p, nil, err)
				continue
			}
			d.line.expire(d, p)
		}
		d.freshening = err == nil && len(d.unsure) > 0
		again := d.freshening
		d.mu.Unlock()
		if !again {
			return
		}
	}
}
