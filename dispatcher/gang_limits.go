package dispatcher

import (
	"fmt"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gangLacks says what keeps a gang as a whole from the queue of a slot: a hard limit, lending, or resources. asks: more is
// asked for, the decision waits for it.
func (s *state) gangLacks(g *gang, now slotNow, n *needs) (why string, asks bool) {
	leaf, ok := s.version.Tree.ByID(g.share())
	if !ok || !s.version.Tree.Leaf(leaf) {
		return "its share is not there any more", false
	}
	var cores shares.Units
	for i := range g.members {
		cores += shares.Units(g.members[i].sh.need.Cores)
	}
	units := cores * shares.Units(now.at.CorePowerMilli)
	lacks := limitsOfGang{n: n}
	lacks.look(now.at.limit, cores*1000)
	lacks.look(now.at.pool.limit, units)
	for _, l := range now.at.pool.pathLimits[leaf] {
		lacks.look(l, units)
	}
	for _, t := range now.at.targets {
		var of shares.Units
		for i := range g.members {
			if sh := g.members[i].sh; t.covers(s.version.Tree, g.share(), sh.class) {
				of += shares.Units(sh.need.Cores) * 1000
			}
		}
		lacks.look(t.limit, of)
	}
	if lacks.why == "" && now.at.pool.lends {
		if no, ok := now.at.pool.book.Admits(leaf, units); !ok {
			n.lacked = obstacle{refusal: no, units: units}.kind()
			return fmt.Sprintf("all of it needs %s units, which lending and borrowing do not admit", figure(units.Float())), false
		}
	}
	if lacks.why == "" {
		s.gangResources(g, now.at, &lacks)
	}
	return lacks.why, lacks.asks
}

// limitsOfGang collects what limits lack.
type limitsOfGang struct {
	n    *needs
	why  string
	asks bool
}

// look asks one limit, nil if there is none.
func (f *limitsOfGang) look(l *limit, need shares.Units) {
	if l == nil || need == 0 || l.balance() >= need {
		return
	}
	f.n.lacked = l.key.Kind
	if f.why == "" {
		f.why = fmt.Sprintf("all of it needs %s at once, and the limit of %s %s has not so much free", figure(need.Float()), l.key.Kind, l.key.Ref)
	}
	if need <= l.cap && l.mayGive(need) {
		f.n.lack(l, need)
		f.asks = true
	}
}

// gangResources asks for what all jobs of a gang hold, and once for what their claims hold that are to be bound.
func (s *state) gangResources(g *gang, q *queue, lacks *limitsOfGang) {
	all, counted := map[string]int64{}, map[*liveClaim]bool{}
	for i := range g.members {
		m := &g.members[i]
		for ref, units := range m.sh.full.Resources {
			all[ref] += units
		}
		live, _ := s.claims.of(&m.job)
		for _, c := range live {
			if c.State == resource.ClaimPending && !counted[c] {
				counted[c] = true
				for ref, units := range c.Template.Resources {
					all[ref] += units
				}
			}
		}
	}
	s.moment = s.now()
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		of, known := s.version.Resource(ref)
		if !known {
			lacks.why, lacks.n.lacked = "the site has no resource "+ref, string(GateResourceUnknown)
			return
		}
		ask := resourceAsk{ref: ref, units: all[ref], of: &of}
		sup := s.supplyAt(&ask, q)
		if ok, no := sup.book.Admits(s.sharingID(&of, g.members[0].sh, g.share()), ask.units, s.moment); !ok {
			sup.refused(no)
			gate := sup.gate(no.Rule)
			lacks.why, lacks.n.lacked = fmt.Sprintf("all of it needs %d of %s: %s", ask.units, ref, gate), string(gate)
			return
		}
		if sup.limit != nil {
			lacks.look(sup.limit, shares.Units(ask.units)*1000)
		}
	}
}
