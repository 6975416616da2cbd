package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Saying is what the owner of the units says of them.
type Saying struct {
	Queue  int // where each has its own
	Total  int64
	Others int64         // that others use
	Ours   bool          // what we hold is among those in use
	Settle time.Duration // for so long we must have held what is ours for sure
	Late   time.Duration // it is so old when it is written
}

// unitsTruth is what is true of the units of the resource.
type unitsTruth struct {
	units   [2]int64 // that leases and claims hold, by queue
	capped  int64    // that there are, whatever the site says; -1: as it says
	reports map[shares.QueueID]entry.Reported
}

// all is how many units there are, of each queue where each has its own.
func (h *holdings) all() int64 {
	if h.capped >= 0 && h.site.Units > 0 {
		return h.capped
	}
	return h.site.Units
}

// unitsAt are those that are held of what a queue may use.
func (h *holdings) unitsAt(queue shares.QueueID) int64 {
	if h.site.PerQueue {
		return h.units[queue-1]
	}
	return h.units[0] + h.units[1]
}

// usable is how many of them may be held, as far as their owner's last report that counts goes.
func (t *truth) usable(queue shares.QueueID) int64 {
	if !t.site.PerQueue {
		queue = 0
	}
	r, is := t.reports[queue]
	switch {
	case !is:
		return t.all()
	case t.time.Sub(r.At) > t.site.Expires:
		t.seen.Expired++
		return t.all()
	}
	n := min(t.all(), max(0, r.Total-max(0, r.Used-r.Settled)))
	if n < t.all() {
		t.seen.Limiting++
	}
	return n
}

// recountUnits holds what the machine has of units against the model. Of a resource that is away nobody asks.
func (t *truth) recountUnits(v *machine.View) {
	shelves := v.Shelves()
	if (len(shelves) > 0) != (t.site.Units > 0) {
		t.violate("the machine has %d resources, the site %d units", len(shelves), t.site.Units)
	}
	for _, shelf := range shelves {
		queue := queueID(0)
		if shelf.Queue != nil {
			queue = shelf.Queue.ID
		}
		if held := shelf.Book.Held(); held != t.unitsAt(queue) {
			t.violate("the machine has %d units of %s held, jobs and claims hold %d", held, shelf.Ref, t.unitsAt(queue))
		}
		if usable := shelf.Book.Usable(); usable != t.usable(queue) {
			t.violate("the machine has %d usable units of %s at queue %d, and there are %d", usable, shelf.Ref, queue, t.usable(queue))
		}
	}
}

// report has the owner of the units say how many there are and are in use. It may be of another kind of site by the time that it is read.
func (w *world) report(d Deed) {
	if w.plan.Units == 0 || w.tables.away > 0 {
		return
	}
	t, says := w.truth, d.Says
	e := entry.Reported{Name: licence, Total: says.Total, Used: says.Others, At: w.clock().Add(-says.Late)}
	if t.site.PerQueue {
		e.Queue = queueID(says.Queue)
	}
	if says.Ours {
		e.Used += t.unitsAt(queueID(says.Queue))
	}
	here := func(q shares.QueueID) bool { return e.Queue == 0 || e.Queue == q }
	for _, l := range t.leases { // any order
		if l.ended == nil && here(l.Queue) && w.now-l.began > says.Settle {
			e.Settled += unitsOf(l.Shape)
		}
	}
	for _, c := range t.claims.by {
		if !c.made.Outside() && (c.state == bound || c.state == draining) && here(c.queue) {
			e.Settled += c.units()
		}
	}
	w.say("report: %+v", e)
	w.seen.Reports++
	w.write(&rowTruth{entries: []entry.Entry{e}}, d.Host)
}

// applyThird applies the third version of the site.
func (w *world) applyThird(host int) {
	w.say("version 3 of the site is applied")
	w.back = &rowTruth{entries: []entry.Entry{entry.Adopted{Number: 3}}}
	w.write(w.back, host)
}

// drawReports draws what the owner of units says, and versions that take the resource away, bring it back, or split it by queues.
func (p *Plan) drawReports(r *rand.Rand) {
	if p.Units == 0 {
		return
	}
	expires := func() time.Duration { return time.Second + upTo(r, 7*time.Second) }
	p.PerQueue, p.Expires = r.IntN(3) == 0, expires()
	if p.Later == nil && r.IntN(3) == 0 {
		later := p.Site
		p.Later = &later
		p.Deeds = append(p.Deeds, Deed{Verb: Adopt, At: upTo(r, p.Span), Host: -1})
	}
	if p.Later != nil {
		p.Later.PerQueue, p.Later.Expires = r.IntN(3) == 0, expires()
		if away := r.IntN(2) == 0; away || r.IntN(4) == 0 {
			p.Later.Units *= int64(r.IntN(2))
			third := p.Site
			third.PerQueue, third.Expires = r.IntN(3) == 0, expires()
			p.Third = &third
			p.Deeds = append(p.Deeds, Deed{Verb: Return, At: p.Span/2 + upTo(r, p.Span/2), Host: -1})
		}
	}
	for range r.IntN(6) {
		d := Deed{Verb: Report, At: upTo(r, p.Span), Host: -1}
		d.Says = Saying{Queue: r.IntN(2), Total: r.Int64N(6), Others: r.Int64N(4), Ours: r.IntN(3) > 0, Settle: upTo(r, 2*time.Second)}
		if r.IntN(4) == 0 {
			d.Says.Late = upTo(r, 8*time.Second)
		}
		p.Deeds = append(p.Deeds, d)
	}
}

// ofUnits are the parts of plans that are about units.
var ofUnits = map[string]struct {
	is   func(*Plan) bool
	less func(*Plan)
}{
	"reports": {
		func(p *Plan) bool { return slices.ContainsFunc(p.Deeds, func(d Deed) bool { return d.Verb == Report }) },
		func(p *Plan) {
			p.eachDeed(func(d *Deed) {
				if d.Verb == Report {
					d.Verb = "" // it is of no use any more
				}
			})
		},
	},
	"away": { // with it the version that brings the resource back
		func(p *Plan) bool { return p.Third != nil },
		func(p *Plan) {
			p.Third = nil
			p.each(func(s *Site) { s.Units = max(s.Units, min(p.Units, mostUnits)) })
		},
	},
	"queues": {
		func(p *Plan) bool {
			is := false
			p.each(func(s *Site) { is = is || s.PerQueue })
			return is
		},
		func(p *Plan) { p.each(func(s *Site) { s.PerQueue = false }) },
	},
}

func init() {
	for name, part := range ofUnits {
		parts[name] = part.less
	}
}

func (p *Plan) hasOfUnits(part string) bool { return p.Units > 0 && ofUnits[part].is(p) }
