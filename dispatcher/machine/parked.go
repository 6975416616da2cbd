package machine

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// waiters are what a supply keeps back: whole lots, since it has no units for any of them, and buffers whose sharing IDs
// have their part. Where units are split evenly those come first whom they reach next, so that an end asks as many as it
// serves, and not all.
type waiters struct {
	lots   map[*lot]struct{}
	by     map[waiterKey]*waiter
	queues map[waiterKind]*waitQueue
}

type waiterKind struct {
	units  int64
	exempt bool // only the capacity bounds them
}

type waiterKey struct {
	waiterKind
	id string
}

// waiter is what an ID waits with. What it holds and its last grant are those of the book, see moved.
type waiter struct {
	key    waiterKey
	held   int64
	last   uint64
	at     int // in its queue
	places map[parkedPlace]struct{}
}

type parkedPlace struct {
	lot    *lot
	buffer *buffer
}

// waitQueue is a heap: who holds least comes first, of those who waited longest.
type waitQueue []*waiter

func (q waitQueue) Len() int { return len(q) }
func (q waitQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.last, b.last), cmp.Compare(a.key.id, b.key.id)) < 0
}
func (q waitQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push is for package heap.
func (q *waitQueue) Push(x any) {
	w := x.(*waiter)
	w.at = len(*q)
	*q = append(*q, w)
}

// Pop is for package heap.
func (q *waitQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}

func (ws *waiters) any() bool { return len(ws.by) > 0 || len(ws.lots) > 0 }

// keep notes that a buffer waits for the supply.
func (sup *supply) keep(key waiterKey, p parkedPlace) {
	ws := &sup.waits
	w := ws.by[key]
	if w == nil {
		if ws.by == nil {
			ws.by, ws.queues = map[waiterKey]*waiter{}, map[waiterKind]*waitQueue{}
		}
		w = &waiter{key: key, held: sup.book.HeldBy(key.id), last: sup.book.Last(key.id), places: map[parkedPlace]struct{}{}}
		ws.by[key] = w
		q := ws.queues[key.waiterKind]
		if q == nil {
			q = &waitQueue{}
			ws.queues[key.waiterKind] = q
		}
		heap.Push(q, w)
	}
	w.places[p] = struct{}{}
}

// release forgets a buffer that does not wait any more.
func (sup *supply) release(key waiterKey, p parkedPlace) {
	if w := sup.waits.by[key]; w != nil {
		if delete(w.places, p); len(w.places) == 0 {
			sup.waits.drop(w)
		}
	}
}

func (ws *waiters) drop(w *waiter) {
	q := ws.queues[w.key.waiterKind]
	heap.Remove(q, w.at)
	delete(ws.by, w.key)
	if len(*q) == 0 {
		delete(ws.queues, w.key.waiterKind)
	}
}

// moved follows that an ID holds more or less, or was granted something.
func (sup *supply) moved(id string) {
	for kind, q := range sup.waits.queues {
		if w := sup.waits.by[waiterKey{kind, id}]; w != nil {
			w.held, w.last = sup.book.HeldBy(id), sup.book.Last(id)
			heap.Fix(q, w.at)
		}
	}
}

// ease has those asked again, before the next decision, whom the supply keeps back.
func (sup *supply) ease() {
	if !sup.eased && sup.waits.any() {
		sup.eased = true
		sup.state.supplies.easing = append(sup.state.supplies.easing, sup)
	}
}

// askAgain lets the buffers give jobs again that supplies do not keep back any more.
func (sp *supplies) askAgain() {
	for len(sp.easing) > 0 {
		list := sp.easing
		sp.easing = nil
		for _, sup := range list {
			sup.eased = false
			for l := range sup.waits.lots {
				if sup.has(l) || sp.passed(l) {
					sup.letIn(l)
				}
			}
			for kind, q := range sup.waits.queues {
				if sup.inTurn() || kind.exempt {
					sup.askInTurn(q)
				} else {
					sup.askNext(kind, q)
				}
			}
		}
	}
}

// has says whether so many units are free as each job of a lot needs.
func (sup *supply) has(l *lot) bool {
	if sup.book == nil {
		return false
	}
	for i := range l.asks {
		if a := &l.asks[i]; a.ref == sup.key.ref {
			return sup.book.Usable()-sup.book.Held() >= a.units
		}
	}
	return false
}

// letIn lets a lot in again; if the supply still has nothing for it the next decision that comes to it sees so.
func (sup *supply) letIn(l *lot) {
	delete(sup.waits.lots, l)
	l.out = nil
	sup.state.kinds.placeLot(l)
}

// inTurn says whether the units reach those who wait in the order of the queue.
func (sup *supply) inTurn() bool {
	return len(sup.of.Split.Weights) == 0 && len(sup.of.Split.Tree) == 0
}

// askInTurn asks who comes first until one is refused: nobody behind it would get anything. But who wants nothing, as far as is
// known, stands in nobody's way.
func (sup *supply) askInTurn(q *waitQueue) {
	for len(*q) > 0 && (sup.admits((*q)[0]) || sup.book.WantedBy((*q)[0].key.id) == 0) {
		sup.letGo((*q)[0])
	}
}

// askNext asks those whose turn it is by the book, where units are not split evenly. If nobody of them waits here the units are
// for others, for a time: who would be first but for them is asked, so that it is known when that ends.
func (sup *supply) askNext(kind waiterKind, q *waitQueue) {
	ids, all := sup.book.Next(sup.state.moment)
	if all {
		sup.askAll(slices.Clone(*q))
	}
	for _, id := range ids {
		if w := sup.waits.by[waiterKey{kind, id}]; w != nil && sup.admits(w) {
			sup.letGo(w)
		}
	}
	sup.askInTurn(q)
}

func (sup *supply) askAll(all []*waiter) {
	for _, w := range all {
		if sup.admits(w) {
			sup.letGo(w)
		}
	}
}

// askEverybody is for what is not an end: somebody may be reached out of turn.
func (sup *supply) askEverybody() {
	for _, q := range sup.waits.queues {
		sup.askAll(slices.Clone(*q))
	}
}

// admits says whether the supply may have units for a waiter.
func (sup *supply) admits(w *waiter) bool {
	ok, no := sup.book.Admits(w.key.id, w.key.units, sup.state.moment)
	if !ok {
		sup.refused(no, w.key.units)
	}
	return ok || no.Rule == resource.Reservation && w.booked()
}

// refused notes why, and until when that may hold.
func (sup *supply) refused(no resource.Refusal, units int64) {
	sup.why = Refusal{Gate: sup.gate(no.Rule), Ref: sup.key.ref, Needed: units, Had: max(0, sup.book.Usable()-sup.book.Held())}
	if sup.until.IsZero() || no.Until.Before(sup.until) && !no.Until.IsZero() {
		sup.until = no.Until
	}
}

// booked says whether a reservation is for it.
func (w *waiter) booked() (is bool) {
	for p := range w.places {
		for _, b := range p.buffer.bundles {
			_, booked := b.Booked()
			is = is || booked
		}
	}
	return is
}

// letGo has a waiter's buffers give jobs again.
func (sup *supply) letGo(w *waiter) {
	sup.waits.drop(w)
	for p := range w.places {
		delete(p.lot.parked, p.buffer)
		if p.buffer.opened {
			p.lot.in.set(p.buffer, p.lot.heads.turn(p.buffer))
		}
		sup.state.kinds.placeLot(p.lot)
	}
}
