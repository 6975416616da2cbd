package lease

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// pull is one request for jobs on its way through the leader.
type pull struct {
	calls   []Call // that share its answer
	pull    machine.Pull
	number  uint64        // of the pulls of this leader
	since   time.Duration // when it came
	until   time.Duration // until then it waits
	place   int           // in line.waiting
	class   *class        // nil: decided, or gone
	leases  []machine.Lease
	unheard bool // its caller has gone
}

// class has the pulls for which a decision comes out alike, oldest first.
type class struct {
	name  string
	pulls []*pull
	tried uint64        // Machine.Eased when there was last nothing for them
	slept bool          // they were tried
	awake bool          // it is in line.awake
	place int           // there
	again time.Duration // they are tried again then: see unmade and Held; 0: not by time
	made  bool          // the job for them is still to be made
	lacks gate.Gate     // what kept jobs back from them; empty: none was ready
}

// node is where pulls may get the jobs of a gang together.
type node struct {
	queue shares.QueueID
	name  string
}

// line has the pulls that are not decided.
type line struct {
	classes map[string]*class
	nodes   map[node][]*pull // of classes, in the order of their arrival
	awake   awake            // classes that a decision is worth trying for
	later   []retry          // in the order in which they are tried again; those that were tried meanwhile are skipped
	eased   uint64
	waiting waits // by the time until which they wait
	calls   map[Call]*pull
	asked   map[entry.ID]*pull // by request, those that wait
	pulls   uint64
	placed  bool // classes are of one node each
}

// retry is when a class is tried again.
type retry struct {
	class *class
	at    time.Duration
}

func newLine() line {
	return line{classes: map[string]*class{}, nodes: map[node][]*pull{}, calls: map[Call]*pull{}, asked: map[entry.ID]*pull{}}
}

// awake is a heap by the first pull of each class.
type awake []*class

func (a awake) Len() int           { return len(a) }
func (a awake) Less(i, j int) bool { return a[i].pulls[0].number < a[j].pulls[0].number }
func (a awake) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}
func (a *awake) Push(x any) {
	c := x.(*class)
	c.place = len(*a)
	*a = append(*a, c)
}
func (a *awake) Pop() any { return pop((*[]*class)(a)) }

// waits is a heap by the end of the wait.
type waits []*pull

func (w waits) Len() int { return len(w) }
func (w waits) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(w[i].until, w[j].until), cmp.Compare(w[i].number, w[j].number)) < 0
}
func (w waits) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i, j
}
func (w *waits) Push(x any) {
	p := x.(*pull)
	p.place = len(*w)
	*w = append(*w, p)
}
func (w *waits) Pop() any { return pop((*[]*pull)(w)) }

func pop[T any](s *[]T) T {
	n := len(*s) - 1
	x := (*s)[n]
	clear((*s)[n:])
	*s = (*s)[:n]
	return x
}

// add puts a pull at the end of its class. A class that found nothing is not tried again for it, unless others wait at its node: a gang may have
// room in all of them.
func (l *line) add(p *pull) {
	l.pulls++
	p.number = l.pulls
	name := l.classOf(p.pull)
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
	others := l.enter(p)
	if !c.awake && (!c.slept || c.tried != l.eased || others && l.placed) {
		l.wake(c)
	}
}

// classOf names the class of a pull. As long as no job asks for a node, thousands of them are one class.
func (l *line) classOf(p machine.Pull) string {
	if !l.placed {
		p.Node, p.Devices = "", nil
	}
	return className(p)
}

// place has classes be of one node each from now on, or not. All pulls that wait are put into classes anew, and each class is worth a try.
func (l *line) place(placed bool) {
	if placed == l.placed {
		return
	}
	l.placed = placed
	l.classes, l.awake, l.later = map[string]*class{}, nil, nil
	for _, p := range slices.SortedFunc(slices.Values(l.waiting), func(a, b *pull) int { return cmp.Compare(a.number, b.number) }) {
		to := l.classOf(p.pull)
		c := l.classes[to]
		if c == nil {
			c = &class{name: to}
			l.classes[to] = c
		}
		if p.class, c.pulls = c, append(c.pulls, p); len(c.pulls) == 1 {
			l.wake(c)
		}
	}
}

// mostBeside bounds how many pulls one decision sees at a node.
const mostBeside = 64

// enter notes a pull at its node, and says whether others wait there.
func (l *line) enter(p *pull) (others bool) {
	if p.pull.Node == "" {
		return false
	}
	at := node{p.pull.Queue, p.pull.Node}
	list := l.nodes[at]
	l.nodes[at] = append(list, p)
	return len(list) > 0
}

func (l *line) leave(p *pull) {
	if p.pull.Node == "" {
		return
	}
	at := node{p.pull.Queue, p.pull.Node}
	list := l.nodes[at]
	if len(list) <= 1 {
		delete(l.nodes, at)
	} else if i := slices.Index(list, p); i >= 0 {
		l.nodes[at] = slices.Delete(list, i, i+1)
	}
}

// beside are the other pulls at the node of one, the oldest first.
func (l *line) beside(p *pull) (others []*pull) {
	if p.pull.Node == "" {
		return nil
	}
	for _, o := range l.nodes[node{p.pull.Queue, p.pull.Node}] {
		if o != p && len(others) < mostBeside {
			others = append(others, o)
		}
	}
	return others
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
			c.awake, c.place = true, len(l.awake)
			l.awake = append(l.awake, c)
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

// sleep notes that there is nothing for the first class, which is tried again then; 0: when something is eased. Made says that the job for it is
// still to be made.
func (l *line) sleep(again time.Duration, made bool) {
	c := heap.Pop(&l.awake).(*class)
	c.awake, c.slept, c.tried, c.again, c.made = false, true, l.eased, again, made
	if again > 0 {
		i, _ := slices.BinarySearchFunc(l.later, again, func(r retry, at time.Duration) int {
			if r.at <= at {
				return -1
			}
			return 1
		})
		l.later = slices.Insert(l.later, i, retry{c, again})
	}
}

// retry wakes the classes whose time has come.
func (l *line) retry(d *desk) {
	for len(l.later) > 0 && l.later[0].at <= d.now {
		if r := l.later[0]; r.class.again == r.at && !r.class.awake && len(r.class.pulls) > 0 {
			l.wake(r.class)
		}
		l.later = l.later[1:]
	}
	if len(l.later) > 0 {
		d.wakeBy(l.later[0].at)
	}
}

// take removes a pull from its class, and from those that wait.
func (l *line) take(p *pull) {
	c := p.class
	if c == nil {
		return
	}
	p.class = nil
	delete(l.asked, p.pull.Request)
	heap.Remove(&l.waiting, p.place)
	l.leave(p)
	if len(c.pulls) == 1 {
		if c.awake {
			heap.Remove(&l.awake, c.place)
		}
		delete(l.classes, c.name)
		c.pulls = nil
		return
	}
	if at := slices.Index(c.pulls, p); at > 0 {
		c.pulls = slices.Delete(c.pulls, at, at+1)
		return
	}
	c.pulls[0] = nil
	c.pulls = c.pulls[1:]
	if c.awake {
		heap.Fix(&l.awake, c.place)
	}
}

// callsOf are the calls that came from some daemons, in order.
func (l *line) callsOf(is func(daemon int64) bool) (list []Call) {
	for call := range l.calls {
		if is(call.Daemon) {
			list = append(list, call)
		}
	}
	slices.SortFunc(list, compareCalls)
	return list
}

// tell takes the calls that share the answer of a pull, which goes out.
func (l *line) tell(p *pull) []Call {
	calls := p.calls
	for _, call := range calls {
		delete(l.calls, call)
	}
	p.calls = nil
	return calls
}
