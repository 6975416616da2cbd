package machine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// ask is what a job of a shape needs of one resource.
type ask struct {
	ref   string // as the task says it: with its key where the resource is a family
	units int64
	of    *shares.Resource // nil: the site has none of that name
	all   *supply          // unless every queue has units of its own; nil: not used yet
}

// supply is the units of a resource: of one key of a family, of one queue where each has its own. What is held and wanted
// follows from grants and ends, by sharing ID.
type supply struct {
	state *state
	key   supplyKey
	of    *shares.Resource
	book  *resource.Pool // nil: there is no such resource
	seq   uint64         // grants so far
	waits waiters
	eased bool      // those that wait are to be asked again
	why   Refusal   // what it last refused for
	until time.Time // when it may admit what it has refused, though nothing changes; zero: never
}

// supplyKey names a supply; queue is 0 where all queues share the units, or have no bound.
type supplyKey struct {
	ref   string
	queue shares.QueueID
}

// supplies are all that jobs have asked for under the present site.
type supplies struct {
	state    *state
	families map[string]*resource.Family // by name; who waited longest is known to them from site to site
	by       map[supplyKey]*supply
	byQueue  bool      // a shape asks for something of which queues have units of their own: these are apart
	all      bool      // of these resources one is of every queue, not only of those with a bound on what jobs read and write
	easing   []*supply // to be asked again before the next decision
	unknown  *supply   // stands for resources that the site does not have
}

// asksOf lists units that are asked for, in the order of names.
func asksOf(resources map[string]int64) (list []ask) {
	for ref, units := range resources {
		if units > 0 {
			list = append(list, ask{ref: ref, units: units})
		}
	}
	slices.SortFunc(list, func(a, b ask) int { return strings.Compare(a.ref, b.ref) })
	return list
}

// lotOf is what a shape asks for, in one way to write it.
func lotOf(asks []ask) string {
	var b strings.Builder
	for _, a := range asks {
		b.WriteString(strconv.Itoa(int(a.units)))
		b.WriteByte(' ')
		b.WriteString(a.ref)
		b.WriteByte(0)
	}
	return b.String()
}

// adoptSupplies begins anew with those of a site: what is held and wanted is counted again, who waited longest is known.
func (sp *supplies) adoptSupplies() {
	s := sp.state
	before := *sp
	*sp = supplies{state: s, families: map[string]*resource.Family{}, by: map[supplyKey]*supply{},
		unknown: &supply{state: s, why: Refusal{Gate: GateUnknown}}}
	for _, r := range s.site.version.Resources {
		sp.all = sp.all || r.PerQueue && r.Of == nil
		f := before.families[r.Name]
		if f == nil || f.Spec().Split.By != r.Split.By {
			sp.families[r.Name] = resource.NewFamily(r)
			continue
		}
		if r.Keyed {
			f.Sweep()
		}
		f.Change(r)
		for _, p := range f.Pools() {
			for _, a := range p.Allowances() {
				p.Hold(a.ID, -a.Held)
				p.Want(a.ID, 0)
			}
		}
		sp.families[r.Name] = f
	}
	for _, o := range s.words.byAt {
		for _, sh := range o.shapes {
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
		a.of, a.all = nil, nil
		r, ok := s.site.version.Resource(a.ref)
		if !ok {
			sh.unknown = true
			continue
		}
		a.of, sh.byQueue = &r, sh.byQueue || r.PerQueue
		sh.unsplit = sh.unsplit && r.Split.By == shares.SplitByNone
	}
	if sh.byQueue && !sp.byQueue {
		sp.byQueue = true
		s.kinds.forgetKinds() // queues that were of one kind may be one each from now on
	}
}

// hasOwn says whether a queue has units of its own of something that jobs ask for.
func (sp *supplies) hasOwn(q *queue) bool {
	return sp.byQueue && q != nil && (sp.all || q.MaxIO > 0)
}

// supplyAt is where jobs at a queue take from what they ask for; nil when the site has no such resource.
func (sp *supplies) supplyAt(a *ask, q *queue) *supply {
	switch {
	case a.of == nil:
		return nil
	case q != nil && a.of.PerQueue && (a.of.Of == nil || q.MaxIO > 0):
		return sp.supply(supplyKey{a.ref, q.ID}, a.of)
	case a.all == nil:
		a.all = sp.supply(supplyKey{ref: a.ref}, a.of)
	}
	return a.all
}

// supply finds or makes one.
func (sp *supplies) supply(key supplyKey, of *shares.Resource) *supply {
	s := sp.state
	sup := sp.by[key]
	if sup == nil {
		_, part := shares.CutResource(key.ref)
		queue := ""
		if q := s.site.queues[key.queue]; q != nil {
			queue = q.Name
		}
		sup = &supply{state: s, key: key, of: of, book: sp.families[of.Name].Pool(part, queue)}
		sp.by[key] = sup
	}
	return sup
}

// sharingID is whom the units of a job are counted for.
func (sp *supplies) sharingID(of *shares.Resource, sh *shape, share shares.ShareID) string {
	s := sp.state
	switch of.Split.By {
	case shares.SplitByShare:
		if node, ok := s.site.version.Tree.ByID(share); ok && share != 0 {
			return s.site.version.Tree.Nodes[node].Path
		}
		return "share " + strconv.Itoa(int(share))
	case shares.SplitByLabel:
		return sh.need.Label
	case shares.SplitByNone:
		return shares.Everybody
	}
	return sh.full.SharingID
}

// holdResources counts units that jobs take or give back.
func (sp *supplies) holdResources(q *queue, by ready.Key, jobs int64) {
	s := sp.state
	sh := s.words.shapes[by.Shape]
	for i := range sh.asks {
		a := &sh.asks[i]
		sup := sp.supplyAt(a, q)
		if sup == nil {
			continue
		}
		id := sp.sharingID(a.of, sh, by.Share)
		sup.book.Hold(id, jobs*a.units)
		sup.moved(id)
		if jobs < 0 {
			sup.ease()
		}
	}
}

// recountWanted brings what a buffer's sharing IDs want up to date after its ready jobs have changed: of those that a queue
// could run at which pilots pull. A grant does not ease anything: nobody may have more for it.
func (sp *supplies) recountWanted(b *buffer, granted bool) {
	if b.shape.asks == nil {
		return
	}
	n := b.Count()
	if b.leaf < 0 {
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
		for i := range sh.queues {
			switch q := s.site.queues[s.site.version.Queues[i].ID]; {
			case !s.site.mayRun(i, b.leaf, sh.outline) || !s.polled[q.ID]:
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

func (sp *supplies) tellWantedAt(b *buffer, q *queue, granted bool) {
	if len(b.bundles) == 0 && b.asked == 0 {
		return
	}
	sp.bundle(b, q).Want(b.asked)
	if !granted {
		for i := range b.shape.asks {
			sp.supplyAt(&b.shape.asks[i], q).ease()
		}
	}
}

// polledFor is how many of the queues that may run a buffer's jobs pilots pull at; most is where it stops to count.
func (sp *supplies) polledFor(b *buffer, most int) (n int) {
	s := sp.state
	if len(s.site.policies) == 0 || b.leaf < 0 {
		return b.shape.polled
	}
	for i, q := range s.site.version.Queues {
		if s.site.mayRun(i, b.leaf, b.shape.outline) && s.polled[q.ID] {
			if n++; n == most {
				break
			}
		}
	}
	return n
}

// bundle is what the jobs of a buffer need of the pools at a queue. The shape must not be unknown.
func (sp *supplies) bundle(b *buffer, q *queue) *resource.Bundle {
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
		asks[i] = resource.Ask{Pool: sp.supplyAt(a, q).book, ID: sp.sharingID(a.of, b.shape, b.Key().Share), Units: a.units}
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
			sp.supplyAt(&b.shape.asks[i], s.site.queues[at]).ease()
		}
	}
}
