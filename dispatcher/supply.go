package dispatcher

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// resourceAsk is what a job of a shape needs of one resource.
type resourceAsk struct {
	ref   string // as the task says it: with its key where the resource is a family
	units int64
	of    *shares.Resource // nil: the site has none of that name
	all   *supply          // unless every queue has units of its own; nil: not used yet
}

// supply is the units of a resource as this daemon sees them: of one key of a family, of one queue where each has its own.
// What is held and wanted follows from the ledger, by sharing ID; the capacity is a hard limit, of which this daemon has a
// part in escrow. Guarded by Dispatcher.mu.
type supply struct {
	state *state
	key   supplyKey
	queue *queue // that it is of; nil: of all, or of all where it is not bounded
	of    *shares.Resource
	book  *resource.Pool // nil: there is no such resource
	limit *limit         // nil in a replay, and where there is no bound
	seq   uint64         // grants so far
	waits waiters
	eased bool      // those that wait are to be asked again
	why   string    // what it last refused for: a name that starts with resource_
	until time.Time // when it may admit what it has refused, though nothing changes; zero: never

	recent resource.Recent
	report *external // what its server last said; nil: nothing that counts
}

// supplyKey names a supply; queue is 0 where all queues share the units, or have no bound.
type supplyKey struct {
	ref   string
	queue shares.QueueID
}

// resourceLimit is the hard limit of a resource; queue is a name where each has units of its own, else empty.
func resourceLimit(ref, queue string) limitKey {
	return limitKey{Kind: "resource", Ref: ref, Pool: queue}
}

// asksOf lists units that are asked for, in the order of names.
func asksOf(resources map[string]int64) (list []resourceAsk) {
	for ref, units := range resources {
		if units > 0 {
			list = append(list, resourceAsk{ref: ref, units: units})
		}
	}
	slices.SortFunc(list, func(a, b resourceAsk) int { return strings.Compare(a.ref, b.ref) })
	return list
}

// unitsWith are units of both.
func unitsWith(a, b map[string]int64) map[string]int64 {
	sum := make(map[string]int64, len(a)+len(b))
	for _, of := range []map[string]int64{a, b} {
		for ref, units := range of {
			sum[ref] += units
		}
	}
	return sum
}

// lotOf is what a shape asks for, in one way to write it.
func lotOf(asks []resourceAsk) string {
	var b strings.Builder
	for _, a := range asks {
		b.WriteString(strconv.Itoa(int(a.units)))
		b.WriteByte(' ')
		b.WriteString(a.ref)
		b.WriteByte(0)
	}
	return b.String()
}

// supplies are all that jobs have asked for under the present site.
type supplies struct {
	families map[string]*resource.Family // by name; who waited longest is known to them from site to site
	by       map[supplyKey]*supply
	former   map[supplyKey]*supply // under the site before
	byQueue  bool                  // a shape asks for something of which queues have units of their own: these are apart
	all      bool                  // of these resources one is of every queue, not only of those with a bound on what jobs read and write
	easing   []*supply             // to be asked again before the next decision
	unknown  *supply               // stands for resources that the site does not have
}

// adoptSupplies begins anew with those of a site: what is held and wanted is counted again, who waited longest is known.
func (s *state) adoptSupplies() {
	before := s.supplies
	before.carry()
	s.supplies = supplies{families: map[string]*resource.Family{}, by: map[supplyKey]*supply{}, former: before.by,
		unknown: &supply{state: s, why: string(GateResourceUnknown)}}
	for _, r := range s.version.Resources {
		s.supplies.all = s.supplies.all || r.PerQueue && r.Of == nil
		f := before.families[r.Name]
		if f == nil || f.Spec().Split.By != r.Split.By {
			s.supplies.families[r.Name] = resource.NewFamily(r)
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
		s.supplies.families[r.Name] = f
	}
	for _, o := range slices.Concat(s.byAt, s.ofNodes) {
		for _, sh := range o.shapes {
			s.resolve(sh)
		}
	}
}

// carry has those that nobody used under a site stand for it too where there is a report: their pools go by it, and it must
// be known when it is too old.
func (of *supplies) carry() {
	for key, sup := range of.former {
		if of.by[key] == nil && sup.report != nil {
			of.by[key] = sup
		}
	}
}

// resolve finds the resources that a shape asks for.
func (s *state) resolve(sh *shape) {
	sh.unknown, sh.byQueue, sh.unsplit = false, false, true
	for _, list := range [2][]resourceAsk{sh.holds, sh.asks} {
		for i := range list {
			a := &list[i]
			a.of, a.all = nil, nil
			r, ok := s.version.Resource(a.ref)
			if !ok {
				sh.unknown = true
				continue
			}
			a.of, sh.byQueue = &r, sh.byQueue || r.PerQueue
			sh.unsplit = sh.unsplit && r.Split.By == shares.SplitByNone
		}
	}
	if sh.byQueue && !s.supplies.byQueue {
		s.supplies.byQueue = true
		s.forgetContenders() // queues that had a set together may have one each from now on
	}
}

// hasOwn says whether a queue has units of its own of something that jobs ask for.
func (s *state) hasOwn(q *queue) bool {
	return s.supplies.byQueue && q != nil && (s.supplies.all || q.MaxIO > 0)
}

// supplyAt is where jobs at a queue take from what they ask for; nil when the site has no such resource.
func (s *state) supplyAt(a *resourceAsk, q *queue) *supply {
	switch {
	case a.of == nil:
		return nil
	case q != nil && a.of.PerQueue && (a.of.Of == nil || q.MaxIO > 0):
		return s.supply(supplyKey{a.ref, q.ID}, a.of)
	case a.all == nil:
		a.all = s.supply(supplyKey{ref: a.ref}, a.of)
	}
	return a.all
}

// supply finds or makes one.
func (s *state) supply(key supplyKey, of *shares.Resource) *supply {
	sup := s.supplies.by[key]
	if sup == nil {
		sup = s.newSupply(key, of)
		s.supplies.by[key] = sup
	}
	return sup
}

func (s *state) newSupply(key supplyKey, of *shares.Resource) *supply {
	_, part := shares.CutResource(key.ref)
	sup := &supply{state: s, key: key, of: of}
	queue := ""
	if sup.queue = s.queues[key.queue]; sup.queue != nil {
		queue = sup.queue.Name
	}
	sup.book = s.supplies.families[of.Name].Pool(part, queue)
	if s.limits != nil && (queue != "" || !of.PerQueue) {
		sup.limit = s.limitOf(resourceLimit(key.ref, queue), shares.Units(sup.book.Capacity())*1000)
		sup.limit.supply = sup
	}
	if before := s.supplies.former[key]; before != nil {
		sup.recent, sup.report, sup.seq = before.recent, before.report, before.seq
		sup.follow()
	}
	return sup
}

// limitOf finds a limit. One that nobody has used in this epoch has no row yet: a take makes it.
func (s *state) limitOf(key limitKey, cap shares.Units) *limit {
	l := s.limits[key]
	if l == nil {
		l = &limit{key: key, cap: cap, unmade: true}
		s.limits[key] = l
	}
	return l
}

// addResources adds the limits of resources: those that are one for all queues and keys, and of the others those of which
// units are held. The rest is made when it is used: there may be any number of them.
func addResources(limits map[limitKey]*capAndHeld, v shares.Version, held []heldRow) {
	for _, r := range v.Resources {
		if !r.Keyed && !r.PerQueue {
			limits[resourceLimit(r.Name, "")] = &capAndHeld{cap: shares.Units(r.CapacityAt("", "")) * 1000}
		}
	}
	for _, h := range held {
		for ref, units := range h.Resources {
			r, ok := v.Resource(ref)
			if !ok {
				continue
			}
			queue := ""
			if i := slices.IndexFunc(v.Queues, func(q shares.Queue) bool { return q.ID == h.QueueID }); r.PerQueue && i >= 0 {
				queue = v.Queues[i].Name
			}
			if r.PerQueue && !r.BoundAt(queue) {
				continue
			}
			_, part := shares.CutResource(ref)
			key := resourceLimit(ref, queue)
			if limits[key] == nil {
				limits[key] = &capAndHeld{cap: shares.Units(r.CapacityAt(part, queue)) * 1000}
			}
			limits[key].held += shares.Units(h.Held*units) * 1000
		}
	}
}

// sharingID is whom the units of a job are counted for.
func (s *state) sharingID(of *shares.Resource, sh *shape, share shares.ShareID) string {
	switch of.Split.By {
	case shares.SplitByShare:
		if path := s.pathOf(share); path != "" {
			return path
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
func (s *state) holdResources(q *queue, key heldKey, jobs int64) {
	sh := s.shapes[key.shape]
	if sh == nil {
		return
	}
	for i := range sh.holds {
		a := &sh.holds[i]
		if sup := s.supplyAt(a, q); sup != nil {
			s.holdUnits(sup, s.sharingID(a.of, sh, key.share), jobs*a.units)
		}
	}
}

func (s *state) holdUnits(sup *supply, id string, units int64) {
	sup.book.Hold(id, units)
	if units > 0 && s.limits != nil {
		sup.recent.Add(s.now(), units)
	}
	sup.moved(id)
	if units < 0 {
		sup.ease()
	}
}

// spendResources charges this daemon's escrow.
func (s *state) spendResources(q *queue, key heldKey, jobs int64) {
	sh := s.shapes[key.shape]
	if sh == nil {
		return
	}
	for i := range sh.holds {
		if sup := s.supplyAt(&sh.holds[i], q); sup != nil && sup.limit != nil {
			sup.limit.spent += shares.Units(jobs*sh.holds[i].units) * 1000
			if jobs < 0 {
				sup.limit.ease()
			}
		}
	}
}

// recountWanted brings what a window's sharing IDs want up to date after its ready jobs have changed: of those that a queue
// could run at which a pilot asked lately. A grant does not: nobody may have more for it.
func (s *state) recountWanted(w *window, granted bool) {
	if w.shape.asks == nil {
		return
	}
	n := s.wantedStarts(w)
	if w.leaf < 0 {
		n = 0
	}
	if n == w.asked {
		return
	}
	w.asked = n
	s.tellWanted(w, granted)
}

// tellWanted says how many jobs of a window are wanted to run.
func (s *state) tellWanted(w *window, granted bool) {
	sh := w.shape
	switch {
	case sh.unknown, sh.unsplit: // whom units are kept for does not follow from what is wanted
	case !sh.byQueue:
		if s.pilotsFor(w, 1) > 0 {
			s.tellWantedAt(w, nil, granted)
		}
	default:
		common := false
		for i := range sh.queues {
			switch q := s.queues[s.version.Queues[i].ID]; {
			case !s.mayRun(i, w.leaf, sh.outline) || !q.asked():
			case s.hasOwn(q):
				s.tellWantedAt(w, q, granted)
			default:
				common = true
			}
		}
		if common {
			s.tellWantedAt(w, nil, granted)
		}
	}
}

func (s *state) tellWantedAt(w *window, q *queue, granted bool) {
	if len(w.bundles) == 0 && w.asked == 0 {
		return
	}
	s.bundle(w, q).Want(w.asked)
	if !granted {
		for i := range w.shape.asks {
			s.supplyAt(&w.shape.asks[i], q).ease()
		}
	}
}
