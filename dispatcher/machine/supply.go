package machine

import (
	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// supplies are what jobs have asked for under the present site (gate.Supplies), with what buffers want of it.
type supplies struct {
	*gate.Supplies
	state   *state
	byQueue bool // a shape asks for something of which queues have units of their own: these are apart
}

// adoptSupplies begins anew with those of a site.
func (sp *supplies) adoptSupplies() {
	sp.byQueue = false
	sp.Adopt(sp.state.site.Version)
	for _, sh := range sp.state.words.shapes {
		if sh.headed {
			sp.resolve(sh)
		}
	}
}

// resolve finds the resources that a shape asks for.
func (sp *supplies) resolve(sh *shape) {
	s := sp.state
	sh.unknown, sh.byQueue, sh.unsplit = false, false, true
	for i := range sh.asks {
		a := &sh.asks[i]
		if !sp.Find(a) {
			sh.unknown = true
			continue
		}
		sh.byQueue = sh.byQueue || a.Of.PerQueue
		sh.unsplit = sh.unsplit && a.Of.Split.By == shares.SplitByNone
	}
	if sh.byQueue && !sp.byQueue {
		sp.byQueue = true
		s.kinds.forgetKinds() // queues that were of one kind may be one each from now on
	}
}

// hasOwn says whether a queue has units of its own of something that jobs ask for.
func (sp *supplies) hasOwn(q *books.Queue) bool {
	return sp.byQueue && q != nil && sp.Own(&q.Queue)
}

// at is where jobs at a queue take from what they ask for; nil when the site has no such resource.
func (sp *supplies) at(a *gate.Ask, q *books.Queue) *gate.Supply {
	if q == nil {
		return sp.At(a, nil)
	}
	return sp.At(a, &q.Queue)
}

// payer is whom units of jobs of a shape are counted for.
func (sh *shape) payer() gate.Payer {
	return gate.Payer{SharingID: sh.full.SharingID, Label: sh.Need.Label}
}

// holdResources counts units that jobs take or give back.
func (sp *supplies) holdResources(q *books.Queue, by ready.Key, jobs int64) {
	if sh := sp.state.words.shapes[by.Shape]; sh.asks != nil {
		sp.Hold(sh.asks, &q.Queue, sh.payer(), by.Share, jobs)
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
	if b.shape.asks == nil {
		return
	}
	s := sp.state
	n := b.Count()
	if n = s.claims.Starts(b.shape.sort, n); b.leaf < 0 || b.shape.sort.Full() {
		n = 0
	}
	if n != b.asked {
		b.asked = n
		sp.tellWanted(b, granted)
	}
}

// tellWanted says how many jobs of a buffer are wanted to run.
func (sp *supplies) tellWanted(b *buffer, granted bool) {
	s := sp.state
	sh := b.shape
	switch {
	case sh.unknown, sh.unsplit: // whom units are kept for does not follow from what is wanted
	case !sh.byQueue:
		if sp.polledFor(b, 1) > 0 {
			sp.tellWantedAt(b, nil, granted)
		}
	default:
		common := false
		for i := range sh.Queues {
			switch q := s.site.Queues[s.site.Version.Queues[i].ID]; {
			case !s.site.MayRun(i, b.leaf, &sh.Fit) || !s.polled[q.ID]:
			case sp.hasOwn(q):
				sp.tellWantedAt(b, q, granted)
			default:
				common = true
			}
		}
		if common {
			sp.tellWantedAt(b, nil, granted)
		}
	}
}

func (sp *supplies) tellWantedAt(b *buffer, q *books.Queue, granted bool) {
	if len(b.bundles) == 0 && b.asked == 0 {
		return
	}
	sp.bundle(b, q).Want(b.asked)
	if !granted {
		for i := range b.shape.asks {
			sp.at(&b.shape.asks[i], q).Ease()
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
		if s.site.MayRun(i, b.leaf, &b.shape.Fit) && s.polled[q.ID] {
			if n++; n == most {
				break
			}
		}
	}
	return n
}

// bundle is what the jobs of a buffer need of the pools at a queue. The shape must not be unknown.
func (sp *supplies) bundle(b *buffer, q *books.Queue) *resource.Bundle {
	var at shares.QueueID
	if b.shape.byQueue && sp.hasOwn(q) {
		at = q.ID
	}
	if bundle := b.bundles[at]; bundle != nil {
		return bundle
	}
	asks := make([]resource.Ask, len(b.shape.asks))
	for i := range b.shape.asks {
		a := &b.shape.asks[i]
		asks[i] = resource.Ask{Pool: sp.at(a, q).Book, ID: sp.SharingID(a.Of, b.shape.payer(), b.Key().Share), Units: a.Units}
	}
	if b.bundles == nil {
		b.bundles = map[shares.QueueID]*resource.Bundle{}
	}
	bundle := resource.NewBundle(b.shape.full.SharingID, asks...)
	b.bundles[at] = bundle
	return bundle
}

// releaseBundles ends what is reserved for a buffer: it has no job any more.
func (sp *supplies) releaseBundles(b *buffer) {
	s := sp.state
	for at, bundle := range b.bundles {
		if b.asked > 0 {
			bundle.Release()
			continue
		}
		bundle.Want(0)
		for i := range b.shape.asks {
			sp.at(&b.shape.asks[i], s.site.Queues[at]).Ease()
		}
	}
}
