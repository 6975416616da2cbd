package machine

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// follow has a buffer of guests met by the decisions that it is for while it has something to give. Its jobs are bound to one node: kinds
// of slots, which are of many nodes, do not know them, and decisions elsewhere do not meet them.
func (so *sorts) follow(b *buffer) {
	at := b.shape.sort.Need.Place()
	switch {
	case !b.opened:
		so.unfollow(b)
	case b.shape.Need.Claims.Starts():
		so.open[b] = struct{}{}
	case !slices.Contains(so.bays[at], b):
		so.bays[at] = append(so.bays[at], b)
	}
}

func (so *sorts) unfollow(b *buffer) {
	delete(so.open, b)
	at := b.shape.sort.Need.Place()
	if of := slices.DeleteFunc(so.bays[at], func(o *buffer) bool { return o == b }); len(of) > 0 {
		so.bays[at] = of
	} else {
		delete(so.bays, at)
	}
}

// offer is what the slot has for claims: its node, and the devices that no claim has.
func (r *round) offer() resource.Offer {
	if r.slot == nil {
		at := resource.Place{Queue: r.queue.Name, Node: r.pull.Node}
		r.slot = &resource.Offer{Place: at, Devices: r.claims.Free(at, r.pull.Devices)}
	}
	return *r.slot
}

// meet finds the guests that the slot may run and has their leaves contend for the time of the decision.
func (r *round) meet() {
	if r.pull.Node == "" || len(r.sorts.bays) == 0 {
		return
	}
	for _, b := range r.sorts.bays[resource.Place{Queue: r.queue.Name, Node: r.pull.Node}] {
		if r.runs(b) {
			r.guests = append(r.guests, b)
		}
	}
	r.enter()
}

// enter has the leaves of guests contend. To look at what else a leaf has may have taken it out: resources keep that back, and not its guests.
func (r *round) enter() {
	for _, b := range r.guests {
		if c := r.kind; !c.leaves.Has(c.pool.Book, b.leaf) {
			c.contend(b.leaf, true)
			r.entered = append(r.entered, b.leaf)
		}
	}
}

// leave ends that.
func (r *round) leave() {
	for _, leaf := range r.entered {
		r.kind.review(leaf)
	}
	r.entered = nil
}

// runs says whether the slot can run the jobs of a buffer of guests, as far as the slot goes.
func (r *round) runs(b *buffer) bool {
	o := b.shape.outline
	if !r.reaches(b) || !b.shape.sort.Need.MetBy(r.offer()) {
		return false
	}
	if l, units := r.queue.Full(o.Need.Cores); l != nil {
		r.decision.Lacked = l.Refuses(units)
		return false
	}
	return true
}

// reaches says the same, whatever the slot has for claims.
func (r *round) reaches(b *buffer) bool {
	o := b.shape.outline
	switch {
	case !b.opened, b.leaf < 0, !r.queue.Policy.Admits(b.leaf), !r.left.Fits(o.Need), !r.pull.Only.Takes(o.Need.Label):
		return false
	case len(r.pull.Slot.Labels) == 0 && !o.Queues[r.queue.Pos]:
		return false
	case len(r.pull.Slot.Labels) > 0 && job.Fits(o.Need, r.queue.Queue, r.pull.labels(r.queue)) != "":
		return false
	}
	return true
}

// bestGuest is best of the guests of a leaf. What keeps them back does not keep the leaf out of a kind.
func (r *round) bestGuest(d due, found *choice) {
	var in obstacle
	for _, b := range r.guests {
		if b.leaf != d.leaf || !b.opened || !d.takes(b.shape.outline) || !r.admitted(d.leaf, b.shape.outline, &in) {
			continue
		}
		if no := r.short(b); no.Stands() {
			in.Keep(no.By.Why)
			continue
		}
		first, _ := b.First()
		found.meet(r.choice(b, first), r.leafOrder(d.leaf))
	}
	if found.buffer == nil && in.Stands() {
		r.decision.Lacked = in.Refusal(r.site.Version.Tree)
	}
}

// labels are those of the queue with those of the slot over them.
func (p *Pull) labels(q *books.Queue) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, q.Labels)
	maps.Copy(labels, p.Slot.Labels)
	return labels
}
