package gate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Shelf is the units of a resource for people. It holds until the next entry.
type Shelf struct {
	Ref    string
	Queue  *shares.Queue // whose units these are; nil: of all queues
	Of     *shares.Resource
	Book   *resource.Pool  // not to be changed
	Report *entry.Reported // the last one; nil: there was none
	Stale  bool            // it counts no more
}

// Shelves are those of the site in file order, queue by queue, and of its families those keys that are in use or of which the capacity was set.
func (sp *Supplies) Shelves() (list []Shelf) {
	for i := range sp.version.Resources {
		of := &sp.version.Resources[i]
		for _, ref := range refsOf(sp, of) {
			if !of.PerQueue {
				list = append(list, shelfOf(sp, supplyKey{ref: ref}, of, nil))
				continue
			}
			for k := range sp.version.Queues {
				if q := &sp.version.Queues[k]; of.BoundAt(q.Name) {
					list = append(list, shelfOf(sp, supplyKey{ref, q.ID}, of, q))
				}
			}
		}
	}
	return list
}

// refsOf are the names of a resource: its own, or those of keys.
func refsOf(sp *Supplies, of *shares.Resource) []string {
	if !of.Keyed {
		return []string{of.Name}
	}
	refs := map[string]bool{}
	for _, l := range of.Live {
		if l.Key != "" {
			refs[of.Name+":"+l.Key] = true
		}
	}
	for key, sup := range sp.by {
		if sup.Of.Name == of.Name && (!sup.Book.Idle() || sp.reports[key] != nil) {
			refs[key.ref] = true
		}
	}
	return slices.Sorted(maps.Keys(refs))
}

// shelfOf shows a supply. It shows one without requests as it would begin, without making it.
func shelfOf(sp *Supplies, key supplyKey, of *shares.Resource, q *shares.Queue) Shelf {
	s := Shelf{Ref: key.ref, Of: of, Queue: q}
	if r := sp.reports[key]; r != nil {
		s.Report, s.Stale = &r.Reported, r.stale
	}
	if sup := sp.by[key]; sup != nil {
		s.Book = sup.Book
		return s
	}
	name := ""
	if q != nil {
		name = q.Name
	}
	_, part := shares.CutResource(key.ref)
	s.Book = resource.NewFamily(*of).Pool(part, name)
	return s
}

// NodeHold is a node of which slots are held for a gang.
type NodeHold struct {
	Place resource.Place
	Claim int64
	Hold  resource.Hold
}

// Held are those that are held at a time, by place.
func (ns *Nodes) Held(now time.Time) (list []NodeHold) {
	for claim, n := range ns.holds {
		if now.Before(n.hold.Until()) {
			list = append(list, NodeHold{n.place, claim, n.hold})
		}
	}
	slices.SortFunc(list, func(a, b NodeHold) int {
		return cmp.Or(cmp.Compare(a.Place.Queue, b.Place.Queue), cmp.Compare(a.Place.Node, b.Place.Node))
	})
	return list
}
