package gate

import (
	"cmp"

	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// waiters are what a supply keeps back: whole lots, since it has no units for any of them, and buffers whose sharing IDs
// have their part. Where units are split evenly those come first whom they reach next, so that an end asks as many as it
// serves, and not all.
type waiters struct {
	lots   map[*lot]struct{}
	by     map[WaiterKey]*waiter
	queues map[waiterKind]*waitQueue
}

type waitQueue = ready.Turns[*waiter, standing]

type waiterKind struct {
	units  int64
	exempt bool // only the capacity bounds them
}

// WaiterKey says which ID lacks units, and how many.
type WaiterKey struct {
	waiterKind
	id string
}

// waiter is what an ID waits with.
type waiter struct {
	key    WaiterKey
	places map[parkedJobs]struct{}
}

// standing is the turn of an ID by the book, see Moved: who holds least comes first, of those who waited longest.
type standing struct {
	held int64
	last uint64
	id   string
}

// Before says whether a comes first.
func (a standing) Before(b standing) bool {
	return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.last, b.last), cmp.Compare(a.id, b.id)) < 0
}

func (sup *Supply) standing(id string) standing {
	return standing{sup.Book.HeldBy(id), sup.Book.Last(id), id}
}

func (ws *waiters) any() bool { return len(ws.by) > 0 || len(ws.lots) > 0 }

// Keep notes that jobs wait for the supply.
func (sup *Supply) Keep(key WaiterKey, p parkedJobs) {
	ws := &sup.waits
	w := ws.by[key]
	if w == nil {
		if ws.by == nil {
			ws.by, ws.queues = map[WaiterKey]*waiter{}, map[waiterKind]*waitQueue{}
		}
		w = &waiter{key: key, places: map[parkedJobs]struct{}{}}
		ws.by[key] = w
		q := ws.queues[key.waiterKind]
		if q == nil {
			q = &waitQueue{}
			ws.queues[key.waiterKind] = q
		}
		q.Set(w, sup.standing(key.id))
	}
	w.places[p] = struct{}{}
}

// Release forgets jobs that do not wait any more.
func (sup *Supply) Release(key WaiterKey, p parkedJobs) {
	if w := sup.waits.by[key]; w != nil {
		if delete(w.places, p); len(w.places) == 0 {
			sup.waits.drop(w)
		}
	}
}

func (ws *waiters) drop(w *waiter) {
	q := ws.queues[w.key.waiterKind]
	q.Drop(w)
	delete(ws.by, w.key)
	if !q.Any() {
		delete(ws.queues, w.key.waiterKind)
	}
}

// Moved follows that an ID holds more or less, or was granted something.
func (sup *Supply) Moved(id string) {
	for kind, q := range sup.waits.queues {
		if w := sup.waits.by[WaiterKey{kind, id}]; w != nil {
			q.Set(w, sup.standing(id))
		}
	}
}

// Ease asks again, before the next decision, the jobs that the supply keeps back.
func (sup *Supply) Ease() {
	if !sup.eased && sup.waits.any() {
		sup.eased = true
		sup.all.easing = append(sup.all.easing, sup)
	}
}

// AskAgain lets jobs be given again that supplies do not keep back any more.
func (sp *Supplies) AskAgain() {
	for len(sp.easing) > 0 {
		list := sp.easing
		sp.easing = nil
		for _, sup := range list {
			sup.eased = false
			for l := range sup.waits.lots {
				if sup.has(l) || l.passed() {
					delete(sup.waits.lots, l)
					l.letIn()
				}
			}
			for kind, q := range sup.waits.queues {
				if split := &sup.Of.Split; !kind.exempt && len(split.Weights)+len(split.Tree) > 0 {
					sup.askNext(kind, q)
				}
				sup.askInTurn(q)
			}
		}
	}
}

// Easing says whether some are to be asked again.
func (sp *Supplies) Easing() bool { return len(sp.easing) > 0 }

// has says whether so many units are free as each job of a lot needs. If the supply has nothing for it all the same, the next
// decision that comes to the lot sees so.
func (sup *Supply) has(l *lot) bool {
	units := l.needs(sup.key.ref)
	return sup.Book != nil && units > 0 && sup.Book.Usable()-sup.Book.Held() >= units
}

// askInTurn asks waiters in order until one is refused: those behind it would get nothing. A waiter that is not known to want
// anything is skipped.
func (sup *Supply) askInTurn(q *waitQueue) {
	for q.Any() && (sup.admits(q.Peek()) || sup.Book.WantedBy(q.Peek().key.id) == 0) {
		sup.letGo(q.Peek())
	}
}

// askNext asks those whose turn it is by the book, where units are not split evenly. If nobody of them waits here the units are
// for others, for a time: who would be first but for them is asked then, so that it is known when that ends.
func (sup *Supply) askNext(kind waiterKind, q *waitQueue) {
	ids, all := sup.Book.Next(sup.all.Moment)
	if all {
		sup.askAll(q)
	}
	for _, id := range ids {
		if w := sup.waits.by[WaiterKey{kind, id}]; w != nil && sup.admits(w) {
			sup.letGo(w)
		}
	}
}

func (sup *Supply) askAll(q *waitQueue) {
	for _, w := range q.All() {
		if sup.admits(w) {
			sup.letGo(w)
		}
	}
}

func (sup *Supply) admits(w *waiter) bool {
	ok, no := sup.Book.Admits(w.key.id, w.key.units, sup.all.Moment)
	if !ok {
		sup.Refused(no, w.key.units)
	}
	return ok || no.Rule == resource.Reservation && w.booked()
}

// Refused notes why, and until when that may hold.
func (sup *Supply) Refused(no resource.Refusal, units int64) {
	sup.Why = Refusal{Gate: sup.GateOf(no.Rule), Ref: sup.key.ref, Needed: units, Had: max(0, sup.Book.Usable()-sup.Book.Held())}
	if sup.until.IsZero() || no.Until.Before(sup.until) && !no.Until.IsZero() {
		sup.until = no.Until
	}
}

// GateOf is the one at which a rule keeps a job back from units of the supply.
func (sup *Supply) GateOf(rule resource.Rule) Gate {
	if sup.Of != nil && sup.Of.BuiltIn() {
		return IO
	}
	return gateOfRule[rule]
}

// booked says whether a reservation is for it.
func (w *waiter) booked() bool {
	for p := range w.places {
		if p.buffer.Needs().Booked() {
			return true
		}
	}
	return false
}

// letGo has a waiter's jobs asked again.
func (sup *Supply) letGo(w *waiter) {
	sup.waits.drop(w)
	for p := range w.places {
		p.letGo()
	}
}
