package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/face"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// ErrUnknownResource is the error for a resource that the site in force does not have.
var ErrUnknownResource = face.ErrUnknownResource

// Resources says how resources stand, as this daemon knows it now. name is empty for all, without sharing IDs; or as jobs ask
// for it, or a family without a key, for all its keys: then with IDs. ErrUnknownResource: neither the site nor a job has it.
func (d *Dispatcher) Resources(ctx context.Context, name string) ([]ResourceStanding, error) {
	list, err := d.resourceStandings(name)
	if err == nil && name != "" {
		err = d.addClaims(ctx, list)
	}
	return list, err
}

func (d *Dispatcher) resourceStandings(name string) ([]ResourceStanding, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	now := s.now()
	list := []ResourceStanding{}
	for _, sup := range s.allSupplies() {
		family, _ := shares.CutResource(sup.key.ref)
		if name == "" || name == sup.key.ref || name == family {
			list = append(list, sup.standing(now, name != ""))
		}
	}
	for _, ref := range s.unknownRefs() {
		if name == "" || name == ref {
			list = append(list, s.unknownStanding(ref, name != ""))
		}
	}
	if name != "" && len(list) == 0 {
		if r, ok := s.version.Resource(name + ":key"); !ok || r.Name != name {
			return nil, fmt.Errorf("%w: %s", ErrUnknownResource, s.version.NoResource(name))
		} // a family of which no key is in use
	}
	return list, nil
}

// allSupplies are those of the site in file order, queue by queue, and of its families those keys that are in use.
func (s *state) allSupplies() (list []*supply) {
	for i := range s.version.Resources {
		r := &s.version.Resources[i]
		refs := []string{r.Name}
		if r.Keyed {
			refs = s.keysInUse(r)
		}
		for _, ref := range refs {
			if !r.PerQueue {
				list = append(list, s.supply(supplyKey{ref: ref}, r))
				continue
			}
			for _, q := range s.version.Queues {
				if r.BoundAt(q.Name) {
					list = append(list, s.supply(supplyKey{ref, q.ID}, r))
				}
			}
		}
	}
	return list
}

// keysInUse are the keys of a family that jobs or reports have named, or of which the capacity was set.
func (s *state) keysInUse(r *shares.Resource) []string {
	refs := map[string]bool{}
	for _, l := range r.Live {
		if l.Key != "" {
			refs[r.Name+":"+l.Key] = true
		}
	}
	for key, sup := range s.supplies.by {
		if sup.of.Name == r.Name && (!sup.book.Idle() || sup.report != nil) {
			refs[key.ref] = true
		}
	}
	return slices.Sorted(maps.Keys(refs))
}

// standing tells of a supply.
func (sup *supply) standing(now time.Time, withIDs bool) ResourceStanding {
	b := sup.book
	st := ResourceStanding{Name: sup.key.ref, Capacity: b.Capacity(), FileCapacity: sup.fileCapacity(), Held: b.Held(),
		Free: max(0, b.Usable()-b.Held()), SplitBy: cmp.Or(sup.of.Split.By, shares.SplitByUser)}
	if sup.queue != nil {
		st.Queue = sup.queue.Name
	}
	if e := sup.report; e != nil {
		st.External = &ResourceExternal{Total: e.total, Used: e.used, At: e.at.UTC(), Stale: now.Sub(e.at) > sup.of.ExternalExpires}
	}
	all := b.Allowances()
	for _, a := range all {
		st.Wanted += a.Wanted
		if a.Held > 0 {
			st.Holders++
		}
		if a.Wanted > 0 {
			st.Waiting++
		}
	}
	if sup.of.BuiltIn() {
		st.Wanted, st.Waiting = sup.state.wantedIO(sup.queue), 0
	}
	st.Kept = b.Kept()
	if withIDs {
		st.IDs = sup.idStandings(all, now)
	}
	return st
}

// fileCapacity is what the site file says.
func (sup *supply) fileCapacity() int64 {
	if sup.queue != nil && sup.of.BuiltIn() {
		return sup.queue.MaxIO
	}
	return sup.of.Capacity
}

// mostKeptFor bounds the names of those for whom units are kept.
const mostKeptFor = 10

// idStandings says of every ID what keeps its next unit from it. What only a look at all of them can tell is looked up once.
func (sup *supply) idStandings(all []resource.Allowance, now time.Time) []ResourceID {
	b := sup.book
	var keptFor []string
	below := slices.DeleteFunc(slices.Clone(all), func(a resource.Allowance) bool { return a.Held >= a.Allowance })
	slices.SortStableFunc(below, func(a, b resource.Allowance) int { return cmp.Compare(b.Waited, a.Waited) })
	for _, a := range below[:min(len(below), mostKeptFor)] {
		keptFor = append(keptFor, a.ID)
	}
	out, byClaims := make([]ResourceID, len(all)), sup.state.heldByClaims(sup)
	for i, a := range all {
		out[i].Allowance, out[i].ByClaims = a, byClaims[a.ID]
		switch free := b.Usable() - b.Held(); {
		case a.Wanted == 0:
		case free < 1 && b.Held() < b.Capacity():
			out[i].Why = resource.External
		case free < 1:
			out[i].Why = resource.Capacity
		case len(keptFor) == 0:
			if ok, why := b.Explain(a.ID, 1, now); !ok {
				out[i].Why, out[i].KeptFor = why.Rule, why.KeptFor
			}
		case !a.Exempt && a.Held >= a.Allowance:
			out[i].Why, out[i].KeptFor = resource.OverItsPart, keptFor
		}
	}
	return out
}

// unknownRefs are what jobs that are ready or hold something ask for and the site does not have.
func (s *state) unknownRefs() []string {
	refs := map[string]bool{}
	s.eachUnknown(func(a *resourceAsk, _ string, held, wanted int64) {
		if held+wanted > 0 {
			refs[a.ref] = true
		}
	})
	return slices.Sorted(maps.Keys(refs))
}

// eachUnknown visits what jobs have and want of resources that the site does not have.
func (s *state) eachUnknown(visit func(a *resourceAsk, id string, held, wanted int64)) {
	for _, w := range s.windows {
		s.unknownAsks(w.shape, w.shape.asks, max(0, w.ready), func(a *resourceAsk, n int64) { visit(a, w.shape.full.SharingID, 0, n) })
	}
	for _, of := range s.held {
		for key, h := range of {
			if sh := s.shapes[key.shape]; sh != nil {
				s.unknownAsks(sh, sh.holds, h.jobs, func(a *resourceAsk, n int64) { visit(a, sh.full.SharingID, n, 0) })
			}
		}
	}
}

func (s *state) unknownAsks(sh *shape, list []resourceAsk, jobs int64, visit func(a *resourceAsk, units int64)) {
	if !sh.unknown || jobs == 0 {
		return
	}
	for i := range list {
		if a := &list[i]; a.of == nil {
			visit(a, jobs*a.units)
		}
	}
}

// unknownStanding tells of a resource that the site does not have.
func (s *state) unknownStanding(ref string, withIDs bool) ResourceStanding {
	st := ResourceStanding{Name: ref, Unknown: true, SplitBy: shares.SplitByUser}
	ids := map[string]*ResourceID{}
	s.eachUnknown(func(a *resourceAsk, name string, held, wanted int64) {
		if a.ref != ref {
			return
		}
		id := ids[name]
		if id == nil {
			id = &ResourceID{Allowance: resource.Allowance{ID: name, Weight: 1}}
			ids[name] = id
		}
		id.Held += held
		id.Wanted += wanted
		st.Held += held
		st.Wanted += wanted
	})
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if ids[name].Held > 0 {
			st.Holders++
		}
		if ids[name].Wanted > 0 {
			st.Waiting++
		}
		if withIDs {
			st.IDs = append(st.IDs, *ids[name])
		}
	}
	return st
}
