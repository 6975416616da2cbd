package gate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Ask is what a job needs of one resource.
type Ask struct {
	Ref   string // as the task says it: with its key where the resource is a family
	Units int64
	Of    *shares.Resource // nil: the site has none of that name
	all   *Supply          // unless every queue has units of its own; nil: not used yet
}

// AsksOf lists units that are asked for, in the order of names.
func AsksOf(resources map[string]int64) (list []Ask) {
	for ref, units := range resources {
		if units > 0 {
			list = append(list, Ask{Ref: ref, Units: units})
		}
	}
	slices.SortFunc(list, func(a, b Ask) int { return strings.Compare(a.Ref, b.Ref) })
	return list
}

// Supply is the units of a resource: of one key of a family, of one queue where each has its own. What is held and wanted
// follows from grants and ends, by sharing ID; who waits for it is known, see waiters.go.
type Supply struct {
	Book   *resource.Pool // nil: there is no such resource
	Of     *shares.Resource
	Grants uint64    // so far
	Why    Refusal   // what it last refused for
	until  time.Time // when it may admit what it has refused, though nothing changes; zero: never
	key    supplyKey
	all    *Supplies
	waits  waiters
	eased  bool // those that wait are to be asked again
}

// supplyKey names a supply; queue is 0 where all queues share the units, or have no bound.
type supplyKey struct {
	ref   string
	queue shares.QueueID
}

// Supplies are all that jobs have asked for under the present site. The zero one has none.
type Supplies struct {
	Moment   time.Time // of the present decision
	ByQueue  bool      // jobs ask for something of which queues have units of their own: these are apart
	Unknown  *Supply   // stands for resources that the site does not have
	version  shares.Version
	families map[string]*resource.Family // by name; who waited longest is known to them from site to site
	by       map[supplyKey]*Supply
	reports  map[supplyKey]*report // from outside, the last of each
	now      time.Time             // of the last Look
	all      bool                  // a resource is of every queue, not only of those with a bound on what jobs read and write
	easing   []*Supply             // to be asked again before the next decision
}

// Adopt begins anew with the resources of a site: what is held and wanted is to be counted again, who waited longest is known.
func (sp *Supplies) Adopt(version shares.Version) {
	before := *sp
	*sp = Supplies{Moment: before.Moment, now: before.now, reports: before.reports, version: version, families: map[string]*resource.Family{}, by: map[supplyKey]*Supply{}}
	sp.Unknown = &Supply{all: sp, Why: Refusal{Gate: Unknown}}
	for _, r := range version.Resources {
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
	for key, r := range sp.reports {
		if sup := sp.reported(key); sup != nil {
			sup.follow()
		} else {
			r.stale = false // a report of what the site lacks is never stale: a start from tables could not tell
		}
	}
}

// Find looks a resource up for an ask; false if the site does not have it.
func (sp *Supplies) Find(a *Ask) bool {
	a.Of, a.all = nil, nil
	r, ok := sp.version.Resource(a.Ref)
	if ok {
		a.Of = &r
	}
	return ok
}

// At is where jobs at a queue take from what they ask for; nil when the site has no such resource. A nil queue: where all do.
func (sp *Supplies) At(a *Ask, q *shares.Queue) *Supply {
	switch {
	case a.Of == nil:
		return nil
	case q != nil && a.Of.PerQueue && (a.Of.Of == nil || q.MaxIO > 0):
		return sp.supply(supplyKey{a.Ref, q.ID}, a.Of, q.Name)
	case a.all == nil:
		a.all = sp.supply(supplyKey{ref: a.Ref}, a.Of, "")
	}
	return a.all
}

// supply finds or makes one.
func (sp *Supplies) supply(key supplyKey, of *shares.Resource, queue string) *Supply {
	sup := sp.by[key]
	if sup == nil {
		_, part := shares.CutResource(key.ref)
		sup = &Supply{all: sp, key: key, Of: of, Book: sp.families[of.Name].Pool(part, queue)}
		sp.by[key] = sup
		sup.follow()
	}
	return sup
}

// SharingID returns the ID that the units of a share's job are counted for.
func (sp *Supplies) SharingID(of *shares.Resource, p Payer, share shares.ShareID) string {
	switch of.Split.By {
	case shares.SplitByShare:
		if node, ok := sp.version.Tree.ByID(share); ok && share != 0 {
			return sp.version.Tree.Nodes[node].Path
		}
		return "share " + strconv.Itoa(int(share))
	case shares.SplitByLabel:
		return p.Label
	case shares.SplitByNone:
		return shares.Everybody
	}
	return p.SharingID
}

// Hold counts units that jobs of a share take at a queue, or give back where jobs are less than 0.
func (sp *Supplies) Hold(asks []Ask, q *shares.Queue, by Payer, share shares.ShareID, jobs int64) {
	for i := range asks {
		a := &asks[i]
		sup := sp.At(a, q)
		if sup == nil {
			continue
		}
		id := sp.SharingID(a.Of, by, share)
		sup.Book.Hold(id, jobs*a.Units)
		sup.Moved(id)
		if jobs < 0 {
			sup.Ease()
		}
	}
}

// Charge counts units that a claim takes or gives back at its queue.
func (sp *Supplies) Charge(c Charge, q *shares.Queue) {
	jobs := int64(1)
	if c.Back {
		jobs = -1
	}
	asks := AsksOf(c.Units)
	for i := range asks {
		sp.Find(&asks[i])
	}
	sp.Hold(asks, q, c.Payer, c.Share, jobs)
}

// Look has those asked again whose time has come. expired says whether a report from outside counts no more.
func (sp *Supplies) Look(now time.Time) (expired bool) {
	sp.Moment, sp.now = now, now
	expired = sp.expire()
	for _, key := range keysOf(sp.by) {
		sup := sp.by[key]
		if sup.waits.any() && !sup.until.IsZero() && !now.Before(sup.until) {
			sup.until = time.Time{}
			for _, q := range sup.waits.queues { // no end of a job: an ID may be reached out of turn
				sup.askAll(q)
			}
		}
	}
	return expired
}

// keysOf are those of supplies, in one order.
func keysOf[V any](of map[supplyKey]V) []supplyKey {
	return slices.SortedFunc(maps.Keys(of), func(a, b supplyKey) int { return cmp.Or(cmp.Compare(a.ref, b.ref), cmp.Compare(a.queue, b.queue)) })
}

// Digest adds who holds units, and what is said from outside.
func (sp *Supplies) Digest(add func(values ...any)) {
	for _, r := range sp.Reports() {
		add(r, sp.reports[supplyKey{r.Name, r.Queue}].stale)
	}
	for _, key := range keysOf(sp.by) {
		for _, a := range sp.by[key].Book.Allowances() {
			if a.Held > 0 {
				add(key.ref, key.queue, a.ID, a.Held)
			}
		}
	}
}

// Waited are those who share a resource in the order of their last grants, for all resources.
func (sp *Supplies) Waited() (list []entry.Waited) {
	for _, key := range keysOf(sp.by) {
		book := sp.by[key].Book
		w := entry.Waited{Ref: key.ref, Queue: key.queue}
		for _, a := range book.Allowances() {
			if book.Last(a.ID) > 0 {
				w.IDs = append(w.IDs, a.ID)
			}
		}
		if len(w.IDs) == 0 {
			continue
		}
		slices.SortStableFunc(w.IDs, func(a, b string) int { return cmp.Compare(book.Last(a), book.Last(b)) })
		list = append(list, w)
	}
	return list
}

// Forget drops the order of waiting, so that the next site begins without it.
func Forget(sp *Supplies) { sp.families = nil }

// Remind says who has waited how long for a resource.
func (sp *Supplies) Remind(w entry.Waited) {
	of, ok := sp.version.Resource(w.Ref)
	if !ok {
		return
	}
	queue, _ := sp.queueName(w.Queue)
	for _, id := range w.IDs {
		sp.supply(supplyKey{w.Ref, w.Queue}, &of, queue).Book.Granted(id)
	}
}
