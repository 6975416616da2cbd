package sim

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/shares"
)

// Times of the rule that takes units back.
const (
	reclaimEvery  = time.Second
	reclaimSettle = time.Minute      // so long what came free is the claimer's
	owedAgain     = 10 * time.Second // a debt is said once more
	owedFor       = 30 * time.Second // and counts for so long
)

// reclaimer is the rule that takes units back for those below their targets, with tables of its own: what becomes of an order is looked up in the log.
type reclaimer struct {
	orders []*takeBack
	said   map[retry.Claimer]shares.Units
	saidAt time.Duration
}

// takeBack is an order that was given.
type takeBack struct {
	retry.Order
	at       time.Duration
	closedAt time.Duration // 0: it is open
}

func (o *takeBack) key() lease.Key {
	return lease.Key{Job: o.JobID, Attempt: o.Attempt, Nonce: o.Nonce}
}

// reclaim is a round of the rule, by what the leader has. Where nobody leads, or the tables are away, there is none.
func (w *world) reclaim() {
	w.after(reclaimEvery, w.reclaim)
	i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.core != nil && h.paused == 0 && h.core.Leads() })
	if i < 0 || w.tables.away > 0 || w.hosts[i].cutLog > 0 {
		return
	}
	of, settled := w.hosts[i].core.Machine()
	m := inside(of)
	if m == nil || m.Site().Number == 0 {
		return
	}
	v := m.View()
	open, recent := w.rule.tables(w.truth)
	round := retry.NewRound(rules.Snapshots(v, nil), open, recent)
	var all []retry.Candidate
	_ = round.Choose(func(young *retry.Young) error { // it asks nothing that could fail
		part, _ := v.Running(0, 1000)
		for l := range part {
			c := retry.Candidate{JobID: l.Job, Attempt: l.Attempt, Nonce: l.Nonce, Age: v.Now.Sub(l.Since()),
				Running: retry.Running{QueueID: l.Queue, ShareID: l.Share, ShapeID: l.Shape, Cores: 1, Units: l.Units}}
			if !w.rule.ordered(c) {
				if all = append(all, c); young.Wants(l.Queue, 1) {
					young.Add(c)
				}
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b retry.Candidate) int { return cmp.Compare(a.JobID, b.JobID) })
	if w.wiring.Reclaim != nil {
		round.Orders = w.wiring.Reclaim(round.Orders, all)
	}
	if _, id := m.Stand(); settled && id == w.truth.id() {
		w.truth.judgeReclaims(round.Orders, all)
	}
	for _, o := range round.Orders {
		w.seen.Reclaimed++
		w.say("reclaim job %d of share %d for share %d", o.JobID, o.ShareID, o.Claimer)
		w.rule.orders = append(w.rule.orders, &takeBack{Order: o, at: w.now})
		w.write(&rowTruth{entries: []entry.Entry{entry.Revoked{Job: o.JobID, Attempt: o.Attempt, Reason: rules.Reclaimed, GraceS: o.GraceS}}}, -1)
	}
	w.owe(retry.Owed(m.Site().Tree, round.Given))
}

// owe says who comes first, where that is another than was said, or was said long ago.
func (w *world) owe(debts map[retry.Claimer]shares.Units) {
	if maps.Equal(debts, w.rule.said) && w.now-w.rule.saidAt < owedAgain {
		return
	}
	var said []entry.Entry
	for c, units := range debts {
		said = append(said, entry.Owed{Pool: c.Pool, Share: c.Share, Units: units})
	}
	for c := range w.rule.said {
		if _, still := debts[c]; !still {
			said = append(said, entry.Owed{Pool: c.Pool, Share: c.Share})
		}
	}
	slices.SortFunc(said, func(a, b entry.Entry) int {
		x, y := a.(entry.Owed), b.(entry.Owed)
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Share, y.Share))
	})
	if w.rule.said, w.rule.saidAt = debts, w.now; len(said) > 0 {
		w.write(&rowTruth{entries: said}, -1)
	}
}

func (r *reclaimer) ordered(c retry.Candidate) bool {
	return slices.ContainsFunc(r.orders, func(o *takeBack) bool { return o.JobID == c.JobID && o.Attempt == c.Attempt && o.Nonce == c.Nonce })
}

// tables are what the database says of orders: those that are open, and what claimers were given lately.
func (r *reclaimer) tables(t *truth) (open []retry.Open, recent []retry.Recent) {
	given := map[retry.Claimer]*retry.Recent{}
	since := map[retry.Claimer]time.Duration{}
	for _, o := range r.orders {
		l := t.leases[o.key()]
		if o.closedAt == 0 && (l == nil || l.ended != nil) { // a failover may have lost it
			o.closedAt = t.world.now
		}
		if o.closedAt > 0 && t.world.now-o.closedAt > reclaimSettle {
			continue
		}
		c := retry.Claimer{Pool: o.Pool, Share: o.Claimer}
		if given[c] == nil {
			given[c], since[c] = &retry.Recent{Pool: o.Pool, ClaimerID: o.Claimer}, o.at
		}
		if o.closedAt > 0 {
			given[c].Freed += o.Units
			continue
		}
		given[c].Open += o.Units
		open = append(open, retry.Open{Pool: o.Pool, ClaimerID: o.Claimer, VictimID: l.pays, Units: o.Units, QueueID: l.Queue, ShapeID: l.Shape})
	}
	for _, l := range t.leases { // any order: they are counted
		c := retry.Claimer{Pool: poolOf(int(l.Queue) - 1), Share: l.Share}
		if given[c] != nil && l.began > since[c] {
			given[c].Taken += l.Units
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(given), func(a, b retry.Claimer) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Share, b.Share))
	}) {
		recent = append(recent, *given[c])
	}
	return open, recent
}

// judgeReclaims judges orders before they are given, by what the log says: none takes from the claimer, nor what the victim or a share above
// it owns; of a share the newest go first; a claimer is given no more than its ready jobs and its target have it owed; by ratio only those
// give that hold more than their targets.
func (t *truth) judgeReclaims(orders []retry.Order, all []retry.Candidate) {
	for q := range t.shares {
		s := standing{tree: t.tree, slots: t.site.Slots[q]}
		s.of(t, q)
		ready := map[shares.ShareID]int{}
		for _, j := range t.jobs {
			if j.ready {
				ready[j.Share]++
			}
		}
		pass := func(victim, claimer shares.ShareID) {
			from, _ := t.tree.ByID(victim)
			to, _ := t.tree.ByID(claimer)
			t.tree.Up(from, func(i int) { s.held[i]-- })
			t.tree.Up(to, func(i int) { s.held[i]++ })
			ready[claimer]--
		}
		for _, o := range t.world.rule.orders {
			if l := t.leases[o.key()]; o.Pool == poolOf(q) && l != nil && l.ended == nil {
				pass(l.pays, o.Claimer)
			}
		}
		targets := s.targets()
		for k := range orders {
			o := &orders[k]
			if o.Pool != poolOf(q) {
				continue
			}
			t.seen.JudgedReclaims++
			t.judgeVictim(&s, o, targets)
			if l := t.leases[(&takeBack{Order: *o}).key()]; l == nil || l.ended != nil || l.pays != o.ShareID || int(l.Queue) != q+1 {
				t.violate("job %d is reclaimed of share %d at queue %d, and has no such lease", o.JobID, o.ShareID, q)
			}
			if pass(o.ShareID, o.Claimer); ready[o.Claimer] < 0 {
				t.violate("job %d is reclaimed for share %d, which has not so many jobs that are ready", o.JobID, o.Claimer)
			}
			t.judgeNewest(o, orders, all)
		}
	}
}

// targets are those of all nodes at what is held: pilots offer nothing else, as far as the rule is told.
func (s *standing) targets() []float64 {
	targets := make([]float64, len(s.tree.Nodes))
	targets[0] = float64(min(s.demand[0], s.slots, s.held[0]))
	for i := range s.tree.Nodes { // those above come first
		if children := s.tree.Nodes[i].Children; len(children) > 0 {
			for k, target := range s.fill(children, targets[i]) {
				targets[children[k]] = target
			}
		}
	}
	return targets
}

// judgeVictim judges who gives, and for whom, as both stand before it.
func (t *truth) judgeVictim(s *standing, o *retry.Order, targets []float64) {
	victim, _ := t.tree.ByID(o.ShareID)
	claimer, _ := t.tree.ByID(o.Claimer)
	if victim == claimer {
		t.violate("job %d is reclaimed of share %d for itself", o.JobID, o.Claimer)
		return
	}
	a, b := t.tree.Part(claimer, victim)
	common := t.tree.Nodes[b].Parent
	for n := victim; n != common; n = t.tree.Nodes[n].Parent {
		if s.held[n]-1 < ownedBy(&t.tree.Nodes[n]) {
			t.violate("job %d is reclaimed of share %d: %s holds %d and owns %d", o.JobID, o.ShareID, t.tree.Nodes[n].Path, s.held[n], ownedBy(&t.tree.Nodes[n]))
		}
	}
	terms := t.tree.ReclaimOf(claimer)
	if terms == nil {
		t.violate("job %d is reclaimed for share %d, which waits", o.JobID, o.Claimer)
		return
	}
	if terms.Scope == "leaf" || t.site.limited() || t.plan.Claims || t.plan.Units > 0 { // its targets are those of another tree, or go by more than is known here
		return
	}
	if over := float64(s.held[claimer]+1) - targets[claimer]; over > 1e-5 {
		t.violate("job %d is reclaimed for share %d, which is owed %.3f less", o.JobID, o.Claimer, over)
	}
	if over := float64(s.held[b]) - targets[b]; terms.By == "" && over < 1e-5 {
		t.violate("job %d is reclaimed of share %d for %s: %s holds %.3f less than its target", o.JobID, o.ShareID, t.tree.Nodes[a].Path, t.tree.Nodes[b].Path, -over)
	}
}

// judgeNewest judges whether no job of the victim is newer that might be taken as well.
func (t *truth) judgeNewest(o *retry.Order, orders []retry.Order, all []retry.Candidate) {
	for _, c := range all {
		if c.ShareID == o.ShareID && c.QueueID == o.QueueID && c.Age < o.Age && c.Age >= leastRun &&
			!slices.ContainsFunc(orders, func(o retry.Order) bool { return o.JobID == c.JobID }) {
			t.violate("job %d is reclaimed of share %d, and job %d is newer", o.JobID, o.ShareID, c.JobID)
		}
	}
}

// leastRun is how long jobs have run at least that are reclaimed.
const leastRun = 300 * time.Millisecond

// owns puts what a share owns, and how it takes that back, in its plan.
func (s Share) owns(plan *shares.Plan) {
	if s.Owned > 0 {
		plan.Owned = shares.Of(shares.Units(1000 * s.Owned))
	}
	s.lends(plan)
	plan.Rank += s.Rank
	if s.Back != "" {
		plan.Reclaim = &shares.Reclaim{Scope: s.Back, MinRuntime: shares.Duration(leastRun)}
		if s.ByRank {
			plan.Reclaim.By = "rank"
		}
	}
}

// ownedBy is what a share itself owns at each queue.
func ownedBy(n *shares.Node) int {
	units, is := n.Plan.Owned.In(poolOf(0))
	if !is {
		return 0
	}
	return int(units / 1000)
}

// owns says whether a share owns something, or takes it back.
func (p *Plan) owns() (is bool) {
	p.each(func(s *Site) {
		for _, of := range append(slices.Clone(s.Shares), s.Group) {
			is = is || of.Owned > 0 || of.Back != ""
		}
	})
	return is
}

// drawOwned draws what shares own of the slots, and who takes units back. Nobody owns more than there is.
func (p *Plan) drawOwned(r *rand.Rand) {
	if len(p.Shares) == 0 || r.IntN(2) == 0 {
		return
	}
	scopes := []string{"lca", "lca", "parent", "leaf"}
	scope, byRank := scopes[r.IntN(4)], r.IntN(4) == 0
	p.each(func(s *Site) {
		s.Shares = slices.Clone(s.Shares)
		for q := range s.Slots {
			s.Slots[q] = 2 + r.IntN(3)
		}
		left := min(s.Slots[0], s.Slots[1])
		for i := range s.Shares {
			of := &s.Shares[i]
			most := left
			if of.Max > 0 {
				most = min(most, of.Max)
			}
			if s.groups() && i < 2 && s.Group.Max > 0 {
				most = min(most, s.Group.Max/2)
			}
			of.Owned = r.IntN(most + 1)
			left -= of.Owned
			if r.IntN(3) > 0 {
				of.Back, of.ByRank = scope, byRank
			}
			of.Rank = r.IntN(3)
		}
	})
	p.drawLending(r)
	for i := range p.Deeds { // there is something to fight for
		if d := &p.Deeds[i]; d.Verb == Enqueue && r.IntN(2) == 0 {
			d.Jobs += r.IntN(4)
		}
	}
}

func init() {
	parts["owned"] = func(p *Plan) {
		p.each(func(s *Site) {
			s.Shares = slices.Clone(s.Shares)
			for i := range s.Shares {
				s.Shares[i].Owned, s.Shares[i].Back = 0, ""
			}
		})
	}
}
