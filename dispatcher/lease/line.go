package lease

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// pull is one request for jobs on its way through the leader.
type pull struct {
	calls   []Call // that share its answer
	pull    machine.Pull
	number  uint64        // of the pulls of this leader
	until   time.Duration // until then it waits
	class   *class        // nil: decided, or gone
	leases  []machine.Lease
	unheard bool // nobody waits for its answer any more
	settled bool // its answer is out
}

// class has the pulls for which a decision comes out alike, oldest first.
type class struct {
	name  string
	pulls []*pull
	tried uint64        // Machine.Eased when there was last nothing for them
	slept bool          // they were tried
	awake bool          // it is in line.awake
	again time.Duration // the job for them is still to be made: they are tried again then; 0: it is not
}

// line has the pulls that are not decided.
type line struct {
	classes map[string]*class
	awake   awake    // classes that a decision is worth trying for
	unmade  []*class // in the order in which they are tried again; those that were tried meanwhile are skipped
	eased   uint64
	waiting waits // by the time until which they wait; those that were decided meanwhile are skipped
	calls   map[Call]*pull
	asked   map[entry.ID]*pull // by request, until their answer is out
	pulls   uint64
}

func newLine() line {
	return line{classes: map[string]*class{}, calls: map[Call]*pull{}, asked: map[entry.ID]*pull{}}
}

// awake is a heap by the first pull of each class.
type awake []*class

func (a awake) Len() int           { return len(a) }
func (a awake) Less(i, j int) bool { return a[i].pulls[0].number < a[j].pulls[0].number }
func (a awake) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *awake) Push(x any)        { *a = append(*a, x.(*class)) }
func (a *awake) Pop() any          { return pop((*[]*class)(a)) }

// waits is a heap by the end of the wait.
type waits []*pull

func (w waits) Len() int { return len(w) }
func (w waits) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(w[i].until, w[j].until), cmp.Compare(w[i].number, w[j].number)) < 0
}
func (w waits) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waits) Push(x any)   { *w = append(*w, x.(*pull)) }
func (w *waits) Pop() any     { return pop((*[]*pull)(w)) }

func pop[T any](s *[]T) T {
	n := len(*s) - 1
	x := (*s)[n]
	clear((*s)[n:])
	*s = (*s)[:n]
	return x
}

// add puts a pull at the end of its class. A class that found nothing is not tried again for it.
func (l *line) add(p *pull, name string) {
	l.pulls++
	p.number = l.pulls
	c := l.classes[name]
	if c == nil {
		c = &class{name: name}
		l.classes[name] = c
	}
	p.class, c.pulls = c, append(c.pulls, p)
	for _, call := range p.calls {
		l.calls[call] = p
	}
	if id := p.pull.Request; id != (entry.ID{}) {
		l.asked[id] = p
	}
	heap.Push(&l.waiting, p)
	if !c.awake && (!c.slept || c.tried != l.eased) {
		l.wake(c)
	}
}

func (l *line) wake(c *class) {
	c.awake = true
	heap.Push(&l.awake, c)
}

// ease wakes all classes when the machine may have something for them now.
func (l *line) ease(eased uint64) {
	if eased == l.eased {
		return
	}
	l.eased = eased
	for _, c := range l.classes {
		if !c.awake {
			c.awake, l.awake = true, append(l.awake, c)
		}
	}
	heap.Init(&l.awake) // numbers differ, so the order of the map does not show
}

// first is the pull that is decided next; nil: none is worth it.
func (l *line) first() *pull {
	if len(l.awake) == 0 {
		return nil
	}
	return l.awake[0].pulls[0]
}

// sleep notes that there is nothing for the first class.
func (l *line) sleep(unmade bool, again time.Duration) {
	c := heap.Pop(&l.awake).(*class)
	c.awake, c.slept, c.tried, c.again = false, true, l.eased, 0
	if unmade {
		c.again = again
		l.unmade = append(l.unmade, c)
	}
}

// retry wakes the classes that wait for jobs to be made, when it is time.
func (l *line) retry(d *desk) {
	for len(l.unmade) > 0 && l.unmade[0].again <= d.now {
		if c := l.unmade[0]; c.again > 0 && !c.awake && len(c.pulls) > 0 {
			l.wake(c)
		}
		l.unmade = l.unmade[1:]
	}
	if len(l.unmade) > 0 {
		d.wakeBy(l.unmade[0].again)
	}
}

// take removes a pull from its class.
func (l *line) take(p *pull) {
	c := p.class
	if c == nil {
		return
	}
	p.class = nil
	if len(c.pulls) == 1 {
		if c.awake {
			heap.Remove(&l.awake, slices.Index(l.awake, c))
		}
		delete(l.classes, c.name)
		return
	}
	if at := slices.Index(c.pulls, p); at > 0 {
		c.pulls = slices.Delete(c.pulls, at, at+1)
		return
	}
	c.pulls[0] = nil
	c.pulls = c.pulls[1:]
	if c.awake {
		heap.Fix(&l.awake, slices.Index(l.awake, c))
	}
}

// forget ends what is known of a pull: its answer is out.
func (l *line) forget(p *pull) {
	p.settled = true
	for _, call := range p.calls {
		delete(l.calls, call)
	}
	if id := p.pull.Request; l.asked[id] == p {
		delete(l.asked, id)
	}
}
