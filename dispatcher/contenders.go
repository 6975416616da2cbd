package dispatcher

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// contenders are the leaves with a job for one kind of slot: one that may run certain shapes at a certain power, in
// one pool. They are kept up to date as windows open and close, so that a decision costs the walk down the tree and
// not a look at every window. Guarded by Dispatcher.mu.
type contenders struct {
	of      *state
	among   *narrow // whose jobs these are alone; nil: all
	at      *queue  // that it is for alone, since that has target slots; nil: for all that are alike
	pool    *pool
	policy  *policy      // of the queues that it is for
	power   shares.Units // thousandths a core
	shapes  bits         // by outline.at
	near    []*outline   // those of the slot's node beside them, for the present decision
	leaves  shares.Contenders
	kind    int64            // its number in the diary
	told    int              // chapter of the diary that knows of it
	changed []int            // leaves of which it does not know yet
	barred  map[int]*limit   // leaves whose jobs a dry limit of their path keeps back
	refused map[int]obstacle // leaves whose jobs lending and borrowing keep back
	starved map[int]string   // leaves whose jobs resources keep back, and the gate
	eased   uint64           // pool.eased when they were last asked for
}

// mostContenders bounds the sets that are kept, or twice the number of queues: where each has resources or target slots of its
// own it needs a set. A site has as many as it has kinds of slots; pulls that state odd figures could make any number.
const mostContenders = 1024

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 == 1 }

func (b bits) key(to []byte) []byte {
	for _, word := range b {
		to = binary.LittleEndian.AppendUint64(to, word)
	}
	return to
}

// contendersFor is the set for a slot: the shapes that may run there, have room, and that queue and pool admit. It
// says whether one of these two limits stood in the way that may yield when it is asked for more.
func (s *state) contendersFor(p *pull, q *queue, left job.Room, n *needs) (c *contenders, wait bool) {
	in := s.scratch.shapes[:0]
	for range (len(s.byAt) + 63) / 64 {
		in = append(in, 0)
	}
	if s.claims.shapes > 0 {
		s.claims.asking = s.claims.offer(p)
	}
	near := s.scratch.near[:0]
	for _, sh := range s.outlinesFor(p, q) {
		if !left.Fits(sh.need) {
			continue
		}
		if l, short := q.lacking(sh); l != nil {
			if sh.nOpen > 0 || p.among != nil {
				n.lacked = l.key.Kind
				if l.mayGive(short) {
					n.lack(l, short)
					wait = true
				}
			}
			continue
		}
		if sh.at < 0 {
			near = append(near, sh)
			continue
		}
		in[sh.at>>6] |= 1 << (sh.at & 63)
	}
	s.scratch.shapes, s.scratch.near = in, near
	key := append(s.scratch.key[:0], q.pool.name...)
	key = binary.LittleEndian.AppendUint64(append(key, 0), uint64(q.CorePowerMilli))
	key = in.key(binary.LittleEndian.AppendUint32(key, q.policy.key()))
	if s.apart(q) {
		key = binary.LittleEndian.AppendUint32(key, uint32(q.ID))
	}
	s.scratch.key = key
	if p.among != nil {
		return p.among.contendersFor(s, q, kindOfSlot{in, near, string(key)}), wait
	}
	if c = s.contenders[string(key)]; c == nil {
		c = s.newContenders(q, in, string(key))
	}
	c.enter(near)
	return c, wait
}

// enter adds, for one decision, jobs that the slot's node alone can run since their claims are bound there. So slots of
// nodes that are alike have one set, however many nodes claims are bound at.
func (c *contenders) enter(near []*outline) {
	if len(near) == 0 {
		return
	}
	c.near = slices.Clone(near)
	for _, o := range near {
		for _, w := range o.windows {
			if w.opened { // whatever keeps other jobs of its leaf back
				c.contend(w.leaf, true)
			}
		}
	}
}

// runs says whether slots of the kind can run jobs of an outline.
func (c *contenders) runs(o *outline) bool {
	if o.at < 0 {
		return slices.Contains(c.near, o)
	}
	return c.shapes.has(o.at)
}

// leave undoes enter.
func (c *contenders) leave() {
	near := c.near
	c.near = nil
	for _, o := range near {
		for _, w := range o.windows {
			if w.leaf >= 0 {
				c.review(w.leaf)
			}
		}
	}
}

// outlines are those that slots of the kind can run.
func (c *contenders) outlines() iter.Seq[*outline] {
	return func(yield func(*outline) bool) {
		for _, o := range c.of.byAt {
			if c.shapes.has(o.at) && !yield(o) {
				return
			}
		}
		for _, o := range c.near {
			if !yield(o) {
				return
			}
		}
	}
}

// kindOfSlot is which shapes a slot can run: those of all slots that are alike, and those of its node.
type kindOfSlot struct {
	shapes bits
	near   []*outline
	key    string
}

// outlinesFor lists those that may run at the queue and that the pull takes; with labels of its own a slot may fit more.
func (s *state) outlinesFor(p *pull, q *queue) []*outline {
	fit, fits := q.outlines, func(o *outline) bool { return o.queues[q.pos] }
	if len(p.req.Slot.Labels) > 0 {
		fit = nil
		labels := p.labels(q)
		fits = func(o *outline) bool { return job.Fits(o.need, q.Queue, labels) == "" }
		for _, sh := range s.byAt {
			if !sh.need.Claims.Bound() && fits(sh) {
				fit = append(fit, sh)
			}
		}
	}
	return outlinesAmong(p.req.Only, s.claims.among(fit, p.among != nil, fits))
}

// lacking is the limit of queue or pool that this daemon has not enough escrow under for a job of the outline, and
// how much that takes; nil when both admit it.
func (q *queue) lacking(sh *outline) (l *limit, need shares.Units) {
	cores := shares.Units(sh.need.Cores) * 1000
	if l := q.limit; l != nil && l.balance() < cores {
		return l, cores
	}
	units := shares.Units(int64(sh.need.Cores) * q.CorePowerMilli)
	if l := q.pool.limit; l != nil && l.balance() < units {
		return l, units
	}
	return nil, 0
}

func (s *state) newContenders(q *queue, in bits, key string) *contenders {
	if len(s.contenders) >= max(mostContenders, 2*len(s.queues)) {
		s.forgetContenders()
	}
	c := s.noContenders(q, in)
	s.contenders[key] = c
	for _, leaf := range s.version.Tree.Leaves() {
		c.review(leaf)
	}
	return c
}

// noContenders is a set that nobody is in yet.
func (s *state) noContenders(q *queue, in bits) *contenders {
	s.nKinds++
	c := &contenders{of: s, kind: s.nKinds, pool: q.pool, policy: q.policy, power: shares.Units(q.CorePowerMilli), shapes: append(bits(nil), in...),
		barred: map[int]*limit{}, refused: map[int]obstacle{}, starved: map[int]string{}, eased: q.pool.eased}
	if s.apart(q) {
		c.at = q
	}
	return c
}

func (s *state) forgetContenders() {
	s.narrows = newNarrows() // they have some of their own
	s.contenders = map[string]*contenders{}
	for _, l := range s.limits {
		l.bars = nil
	}
}

// apart says whether slots of a queue have contenders of their own: what its limits admit is another thing than elsewhere.
func (s *state) apart(q *queue) bool { return len(q.targets) > 0 || s.hasOwn(q) }

// windows are those of a leaf that a job of the set can come from.
func (c *contenders) windows(leaf int) []*window {
	if c.among != nil {
		return c.among.leaves[leaf]
	}
	return c.of.leaves[leaf].windows
}
