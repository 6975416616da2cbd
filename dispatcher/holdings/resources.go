package holdings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// ErrUnknownResource says that the site in force has no such resource.
var ErrUnknownResource = errors.New("unknown resource")

// Resources says how resources stand, as this daemon knows it now. name is empty for all, without sharing IDs; or as jobs ask for it, or a family
// without a key, for all its keys: then with IDs and claims. ErrUnknownResource: neither the site nor a job has it.
func (b *Book) Resources(ctx context.Context, name string) (list []ResourceStanding, err error) {
	var wrong error
	if err = b.cfg.View(ctx, func(v machine.View) { list, wrong = resourcesOf(v, name, time.Now()) }); err == nil {
		err = wrong
	}
	return list, err
}

func resourcesOf(v machine.View, name string, now time.Time) ([]ResourceStanding, error) {
	list := []ResourceStanding{}
	for _, s := range v.Shelves() {
		family, _ := shares.CutResource(s.Ref)
		if name == "" || name == s.Ref || name == family {
			list = append(list, shelfOf(v, &s, name != "", now))
		}
	}
	unknown := unknownOf(v)
	for _, ref := range slices.Sorted(maps.Keys(unknown)) {
		if name == "" || name == ref {
			list = append(list, unknownStanding(ref, unknown[ref], name != ""))
		}
	}
	if name != "" && len(list) == 0 {
		if of, ok := v.Site.Resource(name + ":key"); !ok || of.Name != name {
			return nil, fmt.Errorf("%w: %s", ErrUnknownResource, v.Site.NoResource(name))
		} // a family of which no key is in use
	}
	return list, nil
}

func shelfOf(v machine.View, s *gate.Shelf, withIDs bool, now time.Time) ResourceStanding {
	b := s.Book
	st := ResourceStanding{Name: s.Ref, Capacity: b.Capacity(), FileCapacity: s.Of.Capacity, Held: b.Held(), Free: max(0, b.Usable()-b.Held()),
		Kept: b.Kept(), SplitBy: cmp.Or(s.Of.Split.By, shares.SplitByUser)}
	if s.Queue != nil {
		if st.Queue = s.Queue.Name; s.Of.BuiltIn() {
			st.FileCapacity = s.Queue.MaxIO
		}
	}
	if s.Report != nil {
		st.External = &ResourceExternal{Total: s.Report.Total, Used: s.Report.Used, At: s.Report.At.UTC(), Stale: s.Stale}
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
	if s.Of.BuiltIn() && s.Queue != nil {
		st.Wanted, st.Waiting = wantedIO(v, s.Queue), 0
	}
	if withIDs {
		var claimed map[string]int64
		st.Claims, claimed = claimsOf(v, s)
		st.IDs = idsOf(b, all, claimed, now)
	}
	return st
}

// mostKeptFor bounds the names of IDs that units are kept for.
const mostKeptFor = 10

// idsOf says of every ID what keeps its next unit from it. What only a look at all of them can tell is looked up once.
func idsOf(b *resource.Pool, all []resource.Allowance, claimed map[string]int64, now time.Time) []ResourceID {
	var keptFor []string
	below := slices.DeleteFunc(slices.Clone(all), func(a resource.Allowance) bool { return a.Held >= a.Allowance })
	slices.SortStableFunc(below, func(a, b resource.Allowance) int { return cmp.Compare(b.Waited, a.Waited) })
	for _, a := range below[:min(len(below), mostKeptFor)] {
		keptFor = append(keptFor, a.ID)
	}
	out := make([]ResourceID, len(all))
	for i, a := range all {
		out[i].Allowance, out[i].ByClaims = a, claimed[a.ID]
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

// claimsOf are the claims that hold units of a resource, the first by id, and what all of them hold by sharing ID.
func claimsOf(v machine.View, s *gate.Shelf) (list []ResourceClaim, held map[string]int64) {
	held = map[string]int64{}
	saved := v.Claims()
	if saved == nil {
		return nil, held
	}
	for i := range saved.Claims { // by rising id
		c := &saved.Claims[i]
		units := c.Claim.Charge.Units[s.Ref]
		if units == 0 || !c.Claim.Charged() || s.Queue != nil && c.Queue != s.Queue.ID {
			continue
		}
		id := v.SharingID(s.Of, c.Payer, c.Claim.Charge.Payer.Leaf)
		if held[id] += units; len(list) < mostShown {
			list = append(list, ResourceClaim{ID: c.ID, Task: c.Task, Key: c.Key, SharingID: id, Units: units, Queue: c.Claim.Place.Queue,
				Node: c.Claim.Place.Node, Sharers: c.Claim.Sharers})
		}
	}
	return list, held
}

// wantedIO is how many kB/s the ready jobs ask for that a queue could run.
func wantedIO(v machine.View, q *shares.Queue) (n int64) {
	at := slices.IndexFunc(v.Site.Queues, func(o shares.Queue) bool { return o.ID == q.ID })
	for b := range v.Ready() {
		if b.Leaf < 0 || b.Ready <= 0 || at >= len(b.Runs) || !b.Runs[at] || !q.Runs(v.Site.Tree.Nodes[b.Leaf].Path) {
			continue
		}
		if need, ok := v.Shape(b.Shape); ok {
			n += b.Ready * need.Resources[shares.IO]
		}
	}
	return n
}

// unknownOf is what jobs that are ready or hold something ask for and the site does not have, by resource and sharing ID.
func unknownOf(v machine.View) map[string]map[string]ResourceID {
	all := map[string]map[string]ResourceID{}
	add := func(shape int32, held, ready int64) {
		need, ok := v.Shape(shape)
		if !ok || len(need.Resources) == 0 || held+ready <= 0 {
			return
		}
		for ref, units := range need.Resources {
			if _, has := v.Site.Resource(ref); has {
				continue
			}
			if all[ref] == nil {
				all[ref] = map[string]ResourceID{}
			}
			id := all[ref][need.SharingID]
			id.ID, id.Weight = need.SharingID, 1
			id.Held, id.Wanted = id.Held+held*units, id.Wanted+ready*units
			all[ref][need.SharingID] = id
		}
	}
	for b := range v.Ready() {
		add(b.Shape, 0, max(0, b.Ready))
	}
	for h := range v.Held() {
		add(h.Shape, h.Jobs, 0)
	}
	return all
}

// unknownStanding tells of a resource that the site does not have.
func unknownStanding(ref string, ids map[string]ResourceID, withIDs bool) ResourceStanding {
	st := ResourceStanding{Name: ref, Unknown: true, SplitBy: shares.SplitByUser}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		id := ids[name]
		st.Held, st.Wanted = st.Held+id.Held, st.Wanted+id.Wanted
		if id.Held > 0 {
			st.Holders++
		}
		if id.Wanted > 0 {
			st.Waiting++
		}
		if withIDs {
			st.IDs = append(st.IDs, id)
		}
	}
	return st
}
