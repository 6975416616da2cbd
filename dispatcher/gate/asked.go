package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Asked is what each job of a shape asks of resources, and what the site makes of that (Supplies.Resolve).
type Asked struct {
	List    []Ask
	Lot     string // the same in one way to write it
	Payer   Payer
	Unknown bool // the site does not have some of it
	ByQueue bool // every queue has units of its own of some of it
	Unsplit bool // none of it is split over sharing IDs
}

// AskedOf is what jobs ask that need such units.
func AskedOf(resources map[string]int64, by Payer) Asked {
	a := Asked{List: AsksOf(resources), Payer: by}
	for _, ask := range a.List {
		a.Lot += fmt.Sprintf("%d %s\x00", ask.Units, ask.Ref)
	}
	return a
}

// Any says whether it is anything.
func (a *Asked) Any() bool { return a.List != nil }

// Resolve finds the resources that are asked for. apart is true when queues are apart from now on that were not: jobs ask for something
// of which each has units of its own.
func (sp *Supplies) Resolve(a *Asked) (apart bool) {
	a.Unknown, a.ByQueue, a.Unsplit = false, false, true
	for i := range a.List {
		k := &a.List[i]
		if !sp.Find(k) {
			a.Unknown = true
			continue
		}
		a.ByQueue = a.ByQueue || k.Of.PerQueue
		a.Unsplit = a.Unsplit && k.Of.Split.By == shares.SplitByNone
	}
	apart = a.ByQueue && !sp.ByQueue
	sp.ByQueue = sp.ByQueue || a.ByQueue
	return apart
}

// Own says whether a queue has units of its own of something that jobs ask for.
func (sp *Supplies) Own(q *shares.Queue) bool {
	return sp.ByQueue && q != nil && (sp.all || q.MaxIO > 0)
}

// Wants is what the ready jobs of a buffer want of resources. The zero one asks for nothing.
type Wants struct {
	Asked   *Asked
	Share   shares.ShareID
	Jobs    int64 // that are counted as wanted
	bundles map[shares.QueueID]bundle
}

// bundle is what each job needs of the pools at a queue; of queue 0 where these are of all queues.
type bundle struct {
	*resource.Bundle
	supplies []*Supply // by ask
}

func (b bundle) ease() {
	for _, sup := range b.supplies {
		sup.Ease()
	}
}

// Forget has it want nothing: the site is another one.
func (w *Wants) Forget() { w.Jobs, w.bundles = 0, nil }

// Booked says whether units are reserved for it.
func (w *Wants) Booked() bool {
	for _, b := range w.bundles {
		if _, is := b.Booked(); is {
			return true
		}
	}
	return false
}

// bundle finds or makes the one at a queue. What is asked for must be known.
func (sp *Supplies) bundle(w *Wants, q *shares.Queue) bundle {
	var at shares.QueueID
	if w.Asked.ByQueue && sp.Own(q) {
		at = q.ID
	}
	if b, ok := w.bundles[at]; ok {
		return b
	}
	var b bundle
	asks := make([]resource.Ask, len(w.Asked.List))
	for i := range w.Asked.List {
		a := &w.Asked.List[i]
		sup := sp.At(a, q)
		b.supplies = append(b.supplies, sup)
		asks[i] = resource.Ask{Pool: sup.Book, ID: sp.SharingID(a.Of, w.Asked.Payer, w.Share), Units: a.Units}
	}
	b.Bundle = resource.NewBundle(w.Asked.Payer.SharingID, asks...)
	if w.bundles == nil {
		w.bundles = map[shares.QueueID]bundle{}
	}
	w.bundles[at] = b
	return b
}

// Tell says how many jobs are wanted to run at a queue; nil: where units are of all queues. A grant does not ease anything: nobody may
// have more for it.
func (sp *Supplies) Tell(w *Wants, q *shares.Queue, granted bool) {
	if len(w.bundles) == 0 && w.Jobs == 0 { // there are no jobs, known or counted
		return
	}
	b := sp.bundle(w, q)
	if b.Want(w.Jobs); !granted {
		b.ease()
	}
}

// Stop says that no jobs are wanted to run at a queue any more.
func (sp *Supplies) Stop(w *Wants, q *shares.Queue) { sp.bundle(w, q).Want(0) }

// Release ends what is reserved for jobs: none of them can be given now.
func (w *Wants) Release() {
	for _, b := range w.bundles {
		if w.Jobs > 0 {
			b.Bundle.Release()
			continue
		}
		b.Want(0)
		b.ease()
	}
}

// Took notes that a grant took units: its IDs are the last in turn now.
func (sp *Supplies) Took(w *Wants, q *shares.Queue) {
	if !w.Asked.Any() || w.Asked.Unknown {
		return
	}
	b := sp.bundle(w, q)
	b.Granted()
	for _, sup := range b.supplies {
		sup.Grants++
		sup.Moved(sp.SharingID(sup.Of, w.Asked.Payer, w.Share))
	}
	b.ease() // an odd unit may belong to another ID by now
}

// Shortage is what keeps a job back of the resources that it asks for. The zero one is none.
type Shortage struct {
	By    *Supply // Supplies.Unknown: the site does not have the resource
	Why   resource.Refusal
	Units int64
}

// Stands says whether there is one.
func (no Shortage) Stands() bool { return no.By != nil }

// Short says which resource keeps jobs from a queue: all are taken together or none is. unseen: no pilots pull where they could run,
// so that the slot at hand has labels of its own and one job is wanted for it.
func (sp *Supplies) Short(w *Wants, q *shares.Queue, unseen bool) (no Shortage) {
	if w.Asked.Unknown {
		return Shortage{By: sp.Unknown}
	}
	b := sp.bundle(w, q)
	if w.Jobs == 0 || unseen {
		b.Want(max(1, w.Jobs))
	}
	ok, why := b.Admits(sp.Moment)
	if ok {
		return no
	}
	if len(b.supplies) > 1 {
		b.ease() // the jobs want nothing of the others as long as one keeps them back
	}
	for i, sup := range b.supplies {
		if sup.Book.Name() == why.Resource {
			no = Shortage{By: sup, Why: why, Units: w.Asked.List[i].Units}
			sup.Refused(why, no.Units)
		}
	}
	return no
}

// Explained is the refusal of a resource, with how that stands.
type Explained struct {
	resource.Refusal
	Ref      string // as the job asks for it
	Queue    string // of units that a queue has alone
	BuiltIn  bool   // what jobs of a queue read and write
	Capacity int64
	Usable   int64
	InUse    int64 // held by all
}

// Explain is Short without its effects.
func (sp *Supplies) Explain(w *Wants, q *shares.Queue, unseen bool, moment time.Time) (*Explained, Refusal) {
	if w.Asked.Unknown {
		i := slices.IndexFunc(w.Asked.List, func(a Ask) bool { return a.Of == nil })
		return nil, Refusal{Gate: Unknown, Ref: w.Asked.List[i].Ref, Needed: w.Asked.List[i].Units}
	}
	b := sp.bundle(w, q)
	if w.Jobs == 0 || unseen {
		had := b.Wanted()
		b.Want(max(1, w.Jobs))
		defer b.Want(had)
	}
	ok, why := b.Explain(moment)
	if ok {
		return nil, Refusal{}
	}
	sup := b.supplies[slices.IndexFunc(b.supplies, func(sup *Supply) bool { return sup.Book.Name() == why.Resource })]
	s := &Explained{Refusal: why, Ref: sup.key.ref, BuiltIn: sup.Of.BuiltIn(), Capacity: sup.Book.Capacity(), Usable: sup.Book.Usable(), InUse: sup.Book.Held()}
	if sup.key.queue != 0 {
		s.Queue = q.Name
	}
	return s, Refusal{Gate: sup.GateOf(why.Rule), Ref: sup.key.ref, Needed: why.Need, Had: max(0, s.Usable-s.InUse)}
}
