package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// supplies are what jobs have asked for under the present site (gate.Supplies), with what buffers want of it.
type supplies struct {
	*gate.Supplies
	state  *state
	polled map[shares.QueueID]bool // queues at which pilots pull
}

// resolve finds the resources that a shape asks for.
func (sp *supplies) resolve(sh *shape) {
	if sp.Resolve(&sh.asked) {
		sp.state.kinds.forgetKinds() // queues that were of one kind may be one each from now on
	}
}

// recountCosts brings up to date what jobs want whose claims are to hold units.
func (sp *supplies) recountCosts() {
	for _, list := range sp.state.words.bySort {
		for _, sh := range list {
			if len(sh.sort.Need.Resources) > 0 {
				for _, b := range sh.own {
					sp.recountWanted(b, false)
				}
			}
		}
	}
}

// recountWanted brings what a buffer's sharing IDs want up to date after its ready jobs have changed: of those that a queue
// could run at which pilots pull. A grant does not ease anything: nobody may have more for it.
func (sp *supplies) recountWanted(b *buffer, granted bool) {
	if !b.shape.asked.Any() {
		return
	}
	s := sp.state
	n := b.Count()
	if n = s.claims.Starts(b.shape.sort, n); b.leaf < 0 || b.shape.sort.Full() {
		n = 0
	}
	if n != b.wants.Jobs {
		b.wants.Jobs = n
		sp.tellWanted(b, granted)
	}
}

// tellWanted says how many jobs of a buffer are wanted to run.
func (sp *supplies) tellWanted(b *buffer, granted bool) {
	s := sp.state
	sh := b.shape
	switch {
	case sh.asked.Unknown, sh.asked.Unsplit: // the IDs that units are kept for do not follow from the wants
	case !sh.asked.ByQueue:
		if sp.polledFor(b, 1) > 0 {
			sp.Tell(&b.wants, nil, granted)
		}
	default:
		common := false
		for i := range sh.Queues {
			switch q := s.site.Queues[s.site.Version.Queues[i].ID]; {
			case !s.site.MayRun(i, b.leaf, &sh.Fit) || !sp.polled[q.ID]:
			case sp.Own(&q.Queue):
				sp.Tell(&b.wants, &q.Queue, granted)
			default:
				common = true
			}
		}
		if common {
			sp.Tell(&b.wants, nil, granted)
		}
	}
}

// polledFor is how many of the queues that may run a buffer's jobs pilots pull at; most is where it stops to count.
func (sp *supplies) polledFor(b *buffer, most int) (n int) {
	s := sp.state
	if len(s.site.Policies) == 0 || b.leaf < 0 {
		return b.shape.polled
	}
	for i, q := range s.site.Version.Queues {
		if s.site.MayRun(i, b.leaf, &b.shape.Fit) && sp.polled[q.ID] {
			if n++; n == most {
				break
			}
		}
	}
	return n
}

// short says which resource keeps the jobs of a buffer from the queue.
func (r *round) short(b *buffer) (no gate.Shortage) {
	if !b.shape.asked.Any() {
		return no
	}
	return r.supplies.Short(&b.wants, &r.queue.Queue, r.supplies.polledFor(b, 1) == 0)
}

func (r *round) shortOf(h gate.Head) gate.Shortage { return r.short(h.(*buffer)) }

// poll follows that pilots pull at a queue from now on, or do so no more: what jobs want that it could run counts, or not.
func (sp *supplies) poll(e entry.Polled) {
	s := sp.state
	if sp.polled[e.Queue] == e.Is {
		return
	}
	if sp.polled[e.Queue] = e.Is; !e.Is {
		delete(sp.polled, e.Queue)
	}
	q := s.site.Queues[e.Queue]
	if q == nil {
		return
	}
	d := 1
	if !e.Is {
		d = -1
	}
	for _, o := range slices.Concat(s.words.at[q.Pos], s.words.guestsAt[q.Pos]) {
		o.polled += d
		for _, sh := range o.shapes {
			for _, b := range sh.own {
				if b.leaf >= 0 {
					sp.pollFor(b, q, e.Is)
				}
			}
		}
	}
}

// pollFor brings up to date what one buffer wants at a queue at which pilots pull, or no more.
func (sp *supplies) pollFor(b *buffer, q *books.Queue, is bool) {
	switch sh := b.shape; {
	case !sh.asked.Any() || sh.asked.Unknown || !q.Policy.Admits(b.leaf):
	case sh.asked.ByQueue && !sp.Own(&q.Queue):
		sp.Stop(&b.wants, nil)
		sp.tellWanted(b, false)
	case sh.asked.ByQueue && is:
		sp.Tell(&b.wants, &q.Queue, false)
	case sh.asked.ByQueue:
		sp.Stop(&b.wants, &q.Queue)
	case sp.polledFor(b, 1) == 0:
		sp.Stop(&b.wants, nil)
	case is && sp.polledFor(b, 2) == 1:
		sp.Tell(&b.wants, nil, false)
	}
}
