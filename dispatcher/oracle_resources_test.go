package dispatcher

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// oracleUnits is what an oracle knows of resources: how many units there are, which queues were asked at, and when an ID
// was granted something last.
type oracleUnits struct {
	capacity map[string]int64
	pulled   map[int]bool
	turns    map[string]int // by resource and ID
	grants   int
}

func (u oracleUnits) clone() oracleUnits {
	u.pulled, u.turns = maps.Clone(u.pulled), maps.Clone(u.turns)
	return u
}

// standing sums what the IDs hold of a resource, and what those of their ready jobs ask for that a queue could run at which
// a pilot asked.
func (o *oracle) unitsOf(name string) (held, demand map[string]int64) {
	held, demand = map[string]int64{}, map[string]int64{}
	for _, j := range o.jobs {
		need := o.shapes[j.shape]
		n := need.Resources[name]
		switch {
		case n == 0:
		case j.state == isLeased:
			held[need.SharingID] += n
			demand[need.SharingID] += n
		case j.state == isReady && n <= o.units.capacity[name]: // who needs more than there is keeps nothing from others
			for q := range o.units.pulled {
				if o.runs(j.shape, q) && o.opens(q, j.leaf) {
					demand[need.SharingID] += n
					break
				}
			}
		}
	}
	return held, demand
}

// allowances deals the units out one by one: each to whom has fewest and wants more, of those to who holds so many already,
// to who waited longest, by name.
func (o *oracle) allowances(name string) map[string]int64 {
	held, demand := o.unitsOf(name)
	given := map[string]int64{}
	for range o.units.capacity[name] {
		ids := slices.DeleteFunc(slices.Collect(maps.Keys(demand)), func(id string) bool { return given[id] >= demand[id] })
		if len(ids) == 0 {
			break
		}
		slices.SortFunc(ids, func(a, b string) int {
			has := func(id string) int64 { return min(1, max(0, held[id]-given[id])) }
			return cmp.Or(cmp.Compare(given[a], given[b]), -cmp.Compare(has(a), has(b)),
				cmp.Compare(o.units.turns[name+" "+a], o.units.turns[name+" "+b]), cmp.Compare(a, b))
		})
		given[ids[0]]++
	}
	return given
}

// hasUnits says whether resources admit a job: its ID holds less than its allowance, and a unit is left for each that goes
// before it.
func (o *oracle) hasUnits(j oracleJob) bool {
	need := o.shapes[j.shape]
	for name, n := range need.Resources {
		held, _ := o.unitsOf(name)
		free, given := o.units.capacity[name], o.allowances(name)
		for _, h := range held {
			free -= h
		}
		for id := range given {
			if id != need.SharingID && held[id] < given[id] && cmp.Or(cmp.Compare(held[id], held[need.SharingID]),
				cmp.Compare(o.units.turns[name+" "+id], o.units.turns[name+" "+need.SharingID]), cmp.Compare(id, need.SharingID)) < 0 {
				free--
			}
		}
		if n > free || held[need.SharingID] >= given[need.SharingID] {
			return false
		}
	}
	return true
}

// tookUnits puts the ID of a job last in turn.
func (o *oracle) tookUnits(j *oracleJob) {
	o.units.grants++
	for name := range o.shapes[j.shape].Resources {
		o.units.turns[name+" "+o.shapes[j.shape].SharingID] = o.units.grants
	}
}

// drawUnits makes some of the shapes ask for a resource.
func (s *drawn) drawUnits() {
	o := s.oracle
	o.units = oracleUnits{capacity: map[string]int64{}, pulled: map[int]bool{}, turns: map[string]int{}}
	s.apply(func(v *shares.Version) {
		for _, name := range []string{"x", "y"} {
			o.units.capacity[name] = rapid.Int64Range(1, 6).Draw(s.r, name)
			v.Resources = append(v.Resources, units(name, o.units.capacity[name]))
		}
	})
	for i := range rapid.IntRange(2, 5).Draw(s.r, "asking") {
		need := o.shapes[rapid.IntRange(0, len(o.shapes)-1-i).Draw(s.r, "like")]
		need.SharingID = fmt.Sprint("u", rapid.IntRange(0, 2).Draw(s.r, "user"))
		need.Resources = map[string]int64{rapid.SampledFrom([]string{"x", "y"}).Draw(s.r, "of"): rapid.Int64Range(1, 2).Draw(s.r, "units")}
		o.shapes = append(o.shapes, need)
	}
}

// With resources too every answer is the oracle's.
func TestOracleResources(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		s := &sequence{drawn: drawSite(t, r, siteKind{})}
		s.drawUnits()
		s.run("enqueue", "enqueue", "pull", "pull", "pull", "pull", "end", "end", "kill", "hold", "release")
	})
}
