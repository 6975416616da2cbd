package lease

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// abroad has the asks that this daemon forwarded and that were not answered.
type abroad struct {
	asks   map[uint64]*foreign
	calls  map[Call]uint64          // of pulls, whose callers may leave
	gone   newest[uint64, struct{}] // pulls whose callers have gone
	queue  foreigns
	number uint64

	unanswered bool // an ask had no answer in time, and no other one has since
}

// mostGone bounds how many pulls without a caller are remembered. Leases of a forgotten one expire.
const mostGone = 1 << 14

// foreign is an ask that another daemon answers.
type foreign struct {
	call  Call // of the caller here
	pull  *machine.Pull
	to    int64
	ask   *Ask          // that waits until there is a leader to whom there is a way: then to is 0; nil: it was sent
	until time.Duration // from then on the answer is Unavailable
	no    uint64
}

// foreigns is a heap by until.
type foreigns []*foreign

func (f foreigns) Len() int { return len(f) }
func (f foreigns) Less(i, j int) bool {
	return f[i].until < f[j].until || f[i].until == f[j].until && f[i].no < f[j].no
}
func (f foreigns) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *foreigns) Push(x any)   { *f = append(*f, x.(*foreign)) }
func (f *foreigns) Pop() any     { return pop((*[]*foreign)(f)) }

func newAbroad() abroad {
	return abroad{asks: map[uint64]*foreign{}, calls: map[Call]uint64{}, gone: newNewest[uint64, struct{}](mostGone)}
}

func (n *Node) forward(a *Ask) {
	if a.Left {
		if no, ok := n.abroad.calls[a.Call]; ok {
			f := n.abroad.giveUp(no)
			f.leave(&n.desk)
		}
		return
	}
	to := int64(0)
	if n.replica != nil {
		to = n.replica.tip.leader
	}
	parked := n.replica != nil && !n.draining && n.turns.parks()
	if !parked && (to == 0 || to == n.cfg.Daemon) {
		n.answer(a.Call, Answer{Status: Unavailable})
		return
	}
	b := &n.abroad
	b.number++
	n.turns.asks()
	f := &foreign{call: a.Call, pull: a.Pull, to: to, until: n.now + a.Wait + n.cfg.Timing.Patience, no: b.number}
	b.asks[b.number] = f
	heap.Push(&b.queue, f)
	if a.Pull != nil {
		b.calls[a.Call] = b.number
	}
	if parked {
		held := *a
		f.to, f.ask = 0, &held
		return
	}
	out := *a
	out.Call = Call{Number: b.number} // the receiver knows the sender
	m := n.letter(to)
	m.Asks = append(m.Asks, out)
}

// take removes an ask.
func (b *abroad) take(no uint64) *foreign {
	f := b.asks[no]
	delete(b.asks, no)
	if f != nil && f.pull != nil {
		delete(b.calls, f.call)
	}
	return f
}

// giveUp removes an ask whose caller has gone.
func (b *abroad) giveUp(no uint64) *foreign {
	f := b.take(no)
	if f != nil && f.pull != nil {
		b.gone.put(no, struct{}{})
	}
	return f
}

// answered forwards an answer. Leases whose caller has gone are returned, unless a repeat of their request can ask for them.
func (b *abroad) answered(d *desk, from int64, a Answer) {
	no := a.Call.Number
	if f := b.take(no); f != nil {
		d.answer(f.call, a)
		return
	}
	if _, ok := b.gone.all[no]; !ok {
		return // said twice on the way
	}
	delete(b.gone.all, no)
	var ends []End
	for _, l := range a.Leases {
		if l.Request == (entry.ID{}) {
			ends = append(ends, End{Key: keyOf(l), Outcome: entry.Returned})
		}
	}
	if len(ends) > 0 {
		b.number++
		m := d.letter(from)
		m.Asks = append(m.Asks, Ask{Call: Call{Number: b.number}, Finish: ends})
	}
}

// leave tells the daemon that has the ask that its caller has gone.
func (f *foreign) leave(d *desk) {
	if f.to != 0 {
		m := d.letter(f.to)
		m.Asks = append(m.Asks, Ask{Call: Call{Number: f.no}, Left: true})
	}
}

// leave answers pulls, and tells the daemon that has them that their callers have gone.
func (b *abroad) leave(d *desk) {
	for _, no := range slices.Sorted(maps.Keys(b.asks)) {
		if f := b.asks[no]; f.pull != nil {
			b.giveUp(no)
			f.leave(d)
			d.answer(f.call, Answer{Status: Unavailable})
		}
	}
}

// fail answers all asks that were sent: the daemon that had them leads no more.
func (b *abroad) fail(d *desk) { b.lost(d, func(to int64) bool { return to != 0 }) }

// lost answers those that were sent to some daemons, which are gone.
func (b *abroad) lost(d *desk, gone func(to int64) bool) {
	for _, no := range slices.Sorted(maps.Keys(b.asks)) {
		if gone(b.asks[no].to) {
			d.answer(b.giveUp(no).call, Answer{Status: Unavailable})
		}
	}
}

// expire answers those for which there was no answer in time.
func (b *abroad) expire(d *desk) {
	for len(b.queue) > 0 {
		f := b.queue[0]
		if open := b.asks[f.no] != nil; open && f.until > d.now {
			d.wakeBy(f.until)
			return
		} else if open {
			b.unanswered = b.unanswered || f.to != 0
			d.answer(b.giveUp(f.no).call, Answer{Status: Unavailable})
		}
		heap.Pop(&b.queue)
	}
}

// window knows which of the newest asks of a daemon came already: one that comes twice, as over a link that broke, is served once.
type window struct {
	newest uint64
	seen   [windowSize / 64]uint64
}

const windowSize = 4096

// first says whether the number was not seen before. What is older than the window counts as seen.
func (w *window) first(number uint64) bool {
	if number+windowSize <= w.newest {
		return false
	}
	for ; w.newest < number; w.newest++ {
		next := w.newest + 1
		if number-next >= windowSize {
			next = number - windowSize + 1
			w.newest = next - 1
		}
		w.seen[next%windowSize/64] &^= 1 << (next % 64)
	}
	bit := uint64(1) << (number % 64)
	word := &w.seen[number%windowSize/64]
	was := *word&bit != 0
	*word |= bit
	return !was
}
