package dispatcher

import (
	"slices"
	"time"
)

// narrowKey is what a pull of one task or user takes; zero: any job.
type narrowKey struct {
	task int64
	user string
}

// narrow is the ready jobs of one task or user, beside the common windows, for the few pulls that take no others. It has
// windows of its own, which are read by task and all at once. Their jobs are in the common windows as well: a grant takes a
// job out of both, and one that another daemon was given is sorted out when it is leased. Guarded by Dispatcher.mu.
//
// A task may have a million jobs, so that a read brings the first ones of each task by id, which is their order: a task has one
// priority. It begins where the task has its first ready job, which is known: whatever becomes ready before that is
// announced. Where a slot can run none of what was read, though the task may have other jobs that it could, all are read once.
type narrow struct {
	key     narrowKey
	windows map[windowKey]*window
	leaves  map[int][]*window // by node
	kinds   map[string]*contenders

	known   bool           // it was read
	stale   bool           // since then one of its jobs became ready, or ceased to be
	reading bool           // or will be
	rows    int            // of a task, or of a share and shape, that are read at once
	short   bool           // they did not do
	more    bool           // tasks have more jobs than were read, of whatever share and shape
	whole   bool           // the next read is to bring the first ones of every share and shape
	gone    map[int64]bool // jobs that were granted while it is read
	at      time.Time      // when it was read
	took    time.Duration  // how long that took
	used    time.Time

	froms   map[int64]int64    // by task: it has no ready job with a smaller id
	lowered map[int64]int64    // while it is read: ids that became ready
	healed  time.Time          // when froms were last forgotten
	has     map[windowKey]bool // that jobs may be of; nil: any

	tasks  map[int64]bool // of the user, that had jobs or may have some
	others map[int64]bool // that had jobs and are not among these
	seen   map[int64]bool // that had jobs; whose they are is not known yet
}

const (
	fewNarrowRows   = 250                    // of a share and shape in the first read; twice as many after these did not do,
	mostNarrowRows  = 1000                   // up to this
	narrowEvery     = 100 * time.Millisecond // how long a job that became ready may be passed over for others that are there
	narrowRest      = 10                     // how long it is not read again for them, in times of what that takes
	narrowHealed    = 10 * time.Second       // how long a task's first ready job is known
	firstTasks      = 8                      // of a user in a share: so many rows are read of each of these,
	fewTaskRows     = 4                      // and so many of each of the others
	narrowKept      = time.Minute            // without a pull
	mostNarrows     = 1000
	mostNarrowReads = 2
	mostOthers      = 1 << 16
)

// wanted says whether it must be read before a decision.
func (set *narrow) wanted() bool {
	return !set.known || set.stale && time.Since(set.at) > max(narrowEvery, narrowRest*set.took)
}

// mayHave says whether another read may bring a job for the slot, after none was found.
func (set *narrow) mayHave(of *contenders) bool {
	if set.hides(of) {
		set.whole = true
		return true
	}
	return set.stale
}

// hides says whether there may be jobs of a kind that the slot can run and of which none was read.
func (set *narrow) hides(of *contenders) bool {
	if !set.more {
		return false
	}
	for sh := range of.outlines() {
		for _, w := range sh.windows {
			if w.ready > 0 && set.windows[w.key] == nil && (set.has == nil || set.has[w.key]) {
				return true
			}
		}
	}
	return false
}

// narrow notes that a decision waits for a read.
func (n *needs) narrow(set *narrow) {
	if n.narrows == nil {
		n.narrows = map[*narrow]bool{}
	}
	n.narrows[set] = true
}

// contendersFor is the set for a kind of slot, as its windows are now.
func (set *narrow) contendersFor(s *state, q *queue, of kindOfSlot) *contenders {
	c := set.kinds[of.key]
	if c == nil {
		c = s.noContenders(q, of.shapes)
		c.among, set.kinds[of.key] = set, c
	}
	c.near = slices.Clone(of.near)
	for leaf := range set.leaves {
		c.review(leaf)
	}
	return c
}

// unblockNarrow wakes the classes that waited for a read of their narrow; with an error they are answered with it.
func (l *line) unblockNarrow(d *Dispatcher, key narrowKey, err error) {
	for _, c := range l.classes {
		if !c.blocked || c.only != key {
			continue
		}
		c.blocked = false
		if err != nil {
			c.refuse(d, err)
		}
		l.wake(c)
	}
}

// lookAtNarrows drops those that nobody asks for any more, and has pulls tried again whose jobs may be others by now.
// d.mu is held.
func (d *Dispatcher) lookAtNarrows(now time.Time) {
	stale := false
	for _, set := range d.state.narrows.by {
		if stale = stale || set.stale; now.Sub(set.used) > narrowKept {
			d.state.narrows.drop(set)
		}
	}
	if stale {
		d.line.stir(func(c *class) bool {
			set := d.state.narrows.by[c.only]
			return set != nil && set.stale
		})
	}
}
