package machine

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// kinds are the kinds of slots that pulled, each with the leaves that contend for it.
type kinds struct {
	state  *state
	all    []*kind
	by     map[string]*kind
	made   int64                  // kinds that there were
	bars   map[*books.Limit][]bar // what each limit keeps out
	shapes bits                   // scratch,
	key    []byte                 // and of its key
}

// kind is the slots that may run certain outlines at a certain power, in one pool, and the leaves with a job for them. It is kept
// up to date as buffers fill and run dry, so that a decision costs the walk down the tree and not a look at every buffer.
type kind struct {
	state   *state
	at      *books.Queue // that it is for alone, since that has target slots or units of its own; nil: for all that are alike
	pool    *books.Pool
	policy  *books.Policy // of the queues that it is for
	power   shares.Units  // thousandths a core
	shapes  bits          // by outline.at
	leaves  shares.Contenders
	barred  map[int][]*books.Limit // leaves whose jobs full limits of their path keep back
	refused map[int]obstacle       // leaves whose jobs lending and borrowing keep back
	starved map[int]gate.Gate      // leaves whose jobs resources keep back
	eased   uint64                 // pool.eased when they were last asked for
}

// mostKinds bounds the kinds that are kept, or twice the number of queues: where each has resources or target slots of its
// own it needs a kind. Pulls that state odd figures could make any number.
const mostKinds = 1024

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 == 1 }

// kindOf is the kind of a slot: what may run there, has room, and that queue and pool admit. Where one of these two limits
// stands in the way of jobs that are ready it is the refusal.
func (k *kinds) kindOf(r *round) (c *kind, refusal Refusal) {
	in, refusal := k.runnable(r, k.shapes[:0])
	key := k.keyOf(r.queue, in, k.key[:0])
	k.shapes, k.key = in, key
	if c = k.by[string(key)]; c == nil {
		if len(k.all) >= max(mostKinds, 2*len(k.state.site.Queues)) {
			k.forgetKinds()
		}
		k.made++
		c = k.newKind(r.queue, slices.Clone(in))
		c.barred, c.refused, c.starved = map[int][]*books.Limit{}, map[int]obstacle{}, map[int]gate.Gate{}
		k.by[string(key)], k.all = c, append(k.all, c)
		for _, leaf := range k.state.site.Version.Tree.Leaves() {
			c.review(leaf)
		}
	}
	return c, refusal
}

// runnable adds the outlines that the slot may run and has room for.
func (k *kinds) runnable(r *round, in bits) (bits, Refusal) {
	var refusal Refusal
	in = append(in, make(bits, (len(k.state.words.byAt)+63)/64)...)
	for _, o := range k.outlinesFor(r.pull, r.queue) {
		if !r.left.Fits(o.Need) || !r.pull.Only.Takes(o.Need.Label) || o.Need.Claims != nil && !r.asked && !o.Need.Claims.MetBy(r.offer()) {
			continue
		}
		if l, units := r.queue.Full(o.Need.Cores); l != nil {
			if slices.ContainsFunc(o.buffers, func(b *buffer) bool { return b.opened }) {
				refusal = l.Refuses(units)
			}
			continue
		}
		in[o.at>>6] |= 1 << (o.at & 63)
	}
	return in, refusal
}

func (k *kinds) keyOf(q *books.Queue, in bits, to []byte) []byte {
	to = append(append(to, q.Home.Name...), 0)
	to = binary.LittleEndian.AppendUint64(to, uint64(q.CorePowerMilli))
	to = binary.LittleEndian.AppendUint32(to, q.Policy.Key())
	for _, word := range in {
		to = binary.LittleEndian.AppendUint64(to, word)
	}
	if k.apart(q) {
		to = binary.LittleEndian.AppendUint32(to, uint32(q.ID))
	}
	return to
}

// outlinesFor lists those that may run at the queue; with labels of its own a slot may fit more.
func (k *kinds) outlinesFor(p *Pull, q *books.Queue) []*outline {
	s := k.state
	if len(p.Slot.Labels) == 0 {
		return s.words.at[q.Pos]
	}
	labels := p.labels(q)
	var fit []*outline
	for _, o := range s.words.byAt {
		if job.Fits(o.Need, q.Queue, labels) == "" {
			fit = append(fit, o)
		}
	}
	return fit
}

// newKind returns a kind without contenders.
func (k *kinds) newKind(q *books.Queue, in bits) *kind {
	c := &kind{state: k.state, pool: q.Home, policy: q.Policy, power: shares.Units(q.CorePowerMilli), shapes: in, eased: q.Home.Eased}
	if k.apart(q) {
		c.at = q
	}
	return c
}

func (k *kinds) forgetKinds() {
	k.all, k.by = nil, map[string]*kind{}
	k.bars = map[*books.Limit][]bar{}
}

// apart says whether slots of a queue are a kind of their own: what its limits admit is another thing than elsewhere.
func (k *kinds) apart(q *books.Queue) bool {
	return len(q.Targets) > 0 || k.state.supplies.Own(&q.Queue)
}

// runs says whether slots of the kind can run jobs of an outline.
func (c *kind) runs(o *outline) bool { return c.shapes.has(o.at) }

// contend says whether a leaf contends for slots of the kind from now on.
func (c *kind) contend(leaf int, is bool) {
	c.leaves.Set(c.pool.Book, leaf, is && c.policy.Admits(leaf))
}

// review finds out anew whether a leaf contends.
func (c *kind) review(leaf int) {
	is := false
	delete(c.starved, leaf)
	if _, refused := c.refused[leaf]; !refused && len(c.barred[leaf]) == 0 {
		is = c.offers(leaf)
	}
	c.contend(leaf, is)
}

// offers says whether a leaf has something to give that resources do not keep back, or jobs to be made.
func (c *kind) offers(leaf int) bool {
	var starved gate.Gate
	for _, g := range c.state.leaves[leaf].groups {
		if !c.runs(g.outline) {
			continue
		}
		if g.unmade() || c.has(g) {
			return true
		}
		if h := c.state.kinds.headsAt(g, c.headsOf(g)); h != nil {
			starved = cmp.Or(starved, h.KeptBack().Gate)
		}
	}
	if starved != "" {
		c.starved[leaf] = starved
	}
	return false
}

// has is offers for the buffers of a group.
func (c *kind) has(g *group) bool {
	if g.plain != nil && g.plain.opened {
		return true
	}
	h := c.state.kinds.headsAt(g, c.headsOf(g))
	return h != nil && h.Any()
}

// offered has every kind that can run jobs of a group look at its leaf again: it may have jobs now that were not there, or none. by: only
// those that look at such heads.
func (k *kinds) offered(g *group, by *headsKey) {
	for _, c := range k.all {
		if c.runs(g.outline) && (by == nil || c.headsOf(g) == *by) {
			c.admit(g.leaf)
		}
	}
}

// bar is a leaf that a limit keeps out of a kind.
type bar struct {
	kind *kind
	leaf int
}

// unbar lets leaves contend again that a limit kept out: it has room.
func (k *kinds) unbar(l *books.Limit) {
	bars := k.bars[l]
	delete(k.bars, l)
	for _, b := range bars {
		b.kind.admit(b.leaf)
	}
}

// admit lets a leaf contend again, whatever it was kept back for.
func (c *kind) admit(leaf int) {
	for _, l := range c.barred[leaf] {
		k := c.state.kinds
		if bars := slices.DeleteFunc(k.bars[l], func(b bar) bool { return b == bar{c, leaf} }); len(bars) > 0 {
			k.bars[l] = bars
		} else {
			delete(k.bars, l)
		}
	}
	delete(c.barred, leaf)
	delete(c.refused, leaf)
	c.review(leaf)
}

// keepBack takes a leaf out until what stands in its way may have gone.
func (c *kind) keepBack(leaf int, in obstacle) {
	if len(in.Limits) > 0 {
		c.barred[leaf] = in.Limits
	}
	for _, l := range in.Limits {
		c.state.kinds.bars[l] = append(c.state.kinds.bars[l], bar{c, leaf})
	}
	if in.Units > 0 {
		c.refused[leaf] = in
	}
	if in.Scarce.Gate != "" {
		c.starved[leaf] = in.Scarce.Gate
	}
	c.contend(leaf, false)
}

// ask lets those contend again whom lending and borrowing admit by now. A grant never makes that so: only the end of a
// lease, or another demand.
func (c *kind) ask() {
	if len(c.refused) == 0 || c.eased == c.pool.Eased {
		return
	}
	c.eased = c.pool.Eased
	for leaf, in := range c.refused {
		if _, ok := c.pool.Book.Admits(leaf, in.Units); ok {
			c.admit(leaf)
		}
	}
}

// keptBack is what keeps some leaf out, the first of the tree; zero if none is out. A hard limit goes before lending.
func (c *kind) keptBack() Refusal {
	tree := c.state.site.Version.Tree
	if leaf := firstOf(c.barred); leaf > 0 && len(c.barred[leaf]) > 0 {
		l := c.barred[leaf][0]
		return Refusal{Gate: l.Gate, Ref: l.Ref, Had: int64(max(0, l.Room()))}
	}
	if leaf := firstOf(c.refused); leaf > 0 {
		in := c.refused[leaf]
		return in.Refusal(tree)
	}
	return Refusal{Gate: c.starved[firstOf(c.starved)]}
}

// firstOf is the lowest key; 0 if there is none, which is the root and no leaf.
func firstOf[V any](leaves map[int]V) int { return append(slices.Sorted(maps.Keys(leaves)), 0)[0] }
