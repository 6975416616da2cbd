package dispatcher

import (
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gangHeld is what pulls lack that are held for a gang.
const gangHeld = "gang_hold"

// slotNow is the slot of a decision: a pull, what is left of it, and who contends for it.
type slotNow struct {
	pull *pull
	at   *queue
	left job.Room
	of   *contenders
	r    shares.Units
}

// gangsFirst is what gangs make of a decision; decided is false when it is about jobs without one.
func (s *state) gangsFirst(now slotNow, n *needs) (g *grant, verdict decision, decided bool) {
	if len(s.gangs.open) == 0 || now.pull.req.Node == "" {
		return nil, none, false
	}
	had := len(now.pull.grants)
	switch s.gather(now, n) {
	case startedGang:
		if len(now.pull.grants) > had {
			return nil, given, true
		}
		g, verdict = s.decideOne(now.pull, now.at, now.left, n) // others have got all of it
		return g, verdict, true
	case heldBack:
		return nil, none, true
	case blockedGang:
		return nil, blocked, true
	}
	return nil, none, false
}

// gather is the part of a decision that looks at gangs: the one for which the node is held, then those to which shares and
// priority come before any other job.
func (s *state) gather(now slotNow, n *needs) gathering {
	node := s.gangs.node(placeOf(now.pull))
	node.tried = s.now()
	if g := node.by; g != nil {
		switch verdict := s.try(g, node, now, n); verdict {
		case passed:
			s.gangs.letGo(g) // it will not start here
		case notUsed:
		default:
			return verdict
		}
	}
	list, ok := s.candidatesAt(now.pull, now.at, now.left, n)
	if !ok {
		return blockedGang
	}
	for len(list) > 0 {
		i := s.inTurn(list, now, n)
		if i < 0 {
			return passed
		}
		if g := list[i].gang; g != node.by {
			verdict := s.try(g, node, now, n)
			if verdict == blockedGang && len(n.gangs) > 0 {
				for _, c := range list { // the next pulls would wait for them
					c.gang.known(n)
				}
			}
			if verdict != passed && verdict != notUsed {
				return verdict
			}
		}
		list = slices.Delete(list, i, i+1)
	}
	return passed
}

// gathering is what a decision does for gangs.
type gathering int

const (
	passed      gathering = iota // the slot is for others
	notUsed                      // a gang holds slots of the node, but not this one
	heldBack                     // the pull waits for a gang
	startedGang                  // a gang has started, in this pull among others or in others only
	blockedGang                  // something must be read or taken first
)

// inTurn is the candidate whose turn it is, −1 if it is that of a job without a gang: leaf by leaf as for any other job, and in
// the leaf by its users' turns and by place.
func (s *state) inTurn(list []candidate, now slotNow, n *needs) int {
	book, set := now.of.pool.book, &now.of.leaves
	var added []int
	for _, c := range list {
		if !book.Contends(set, c.leaf) {
			book.Contend(set, c.leaf, true)
			added = append(added, c.leaf)
		}
	}
	first, _ := s.choose(now.at, now.of, now.r, nil)
	for _, leaf := range added {
		book.Contend(set, leaf, false)
	}
	i := slices.IndexFunc(list, func(c candidate) bool { return c.leaf == first.leaf })
	if i < 0 || slices.Contains(added, first.leaf) {
		return i
	}
	found, _ := now.of.best(first, now.at, n)
	if found.window != nil && (!found.exact || len(found.window.jobs) == 0 || userTurn{found.turn.held, found.turn.served, found.window.jobs[0].stand}.before(list[i].turn)) {
		return -1
	}
	return i
}

// try says what a gang does with a slot, and does it.
func (s *state) try(g *gang, node *gangNode, now slotNow, n *needs) gathering {
	if !g.known(n) {
		return blockedGang
	}
	wait := func(why string) gathering { g.why[node.place] = why; return passed }
	if g.lacks != "" {
		return wait(g.lacks)
	}
	offers := s.offersAt(now.pull, now.at, now.left, g)
	if why := s.unfit(g, now.at, offers); why != "" {
		return wait(why)
	}
	switch why, asks := s.gangLacks(g, now, n); {
	case asks:
		return blockedGang
	case why != "":
		return wait(why)
	}
	fit := resource.Fit(g.needs(), roomsOf(offers))
	if !fit.OK() && s.now().Sub(node.read) > nodeFresh {
		n.nodes[node] = true
		return blockedGang
	}
	if fit.OK() {
		delete(g.why, node.place)
		s.start(g, node, now, started{offers, fit.At}, n)
		return startedGang
	}
	return s.holdFor(g, node, now, offers, n)
}

// known says whether its jobs are those of the moment; if not, the decision waits until they are.
func (g *gang) known(n *needs) bool {
	if !g.read {
		n.gangs[g] = true
	}
	return g.read && !g.reading
}

// holdFor holds the slot for a gang that does not fit into what is offered yet, if that may be.
func (s *state) holdFor(g *gang, node *gangNode, now slotNow, offers []gangOffer, n *needs) gathering {
	at := s.now()
	got := resource.Gather(g.needs(), roomsOf(offers), node.whole(offers, at), node.hold.For(s.gangs.most), at)
	g.why[node.place] = got.Why
	switch {
	case got.Verdict != resource.GangHolds:
		return passed
	case g.hold != nil && g.hold != node:
		g.why[node.place] = fmt.Sprintf("slots of node %s of queue %s are held for it", g.hold.place.Node, g.hold.place.Queue)
		return passed
	}
	if node.by == nil && node.vain == g.claim.id {
		switch another, known := s.anotherHolds(g, node, now, n); {
		case !known:
			return blockedGang
		case another:
			g.why[node.place] = "the node was held for it in vain, another gang comes first now"
			return passed
		}
	}
	use := resource.Useful(g.needs(), roomsOf(offers))
	i := slices.IndexFunc(offers, func(o gangOffer) bool { return o.pull == now.pull })
	if node.by == nil && !slices.Contains(use, true) {
		return passed // nothing that is offered is of use
	}
	node.hold, node.by, g.hold, node.waits = got.Hold, g, node, true
	if node.vain != g.claim.id {
		node.vain = 0
	}
	if i >= 0 && use[i] {
		n.lacked = gangHeld
		return heldBack
	}
	return notUsed
}

// anotherHolds says whether slots of the node could be held for another gang; known is false when that must be read first.
func (s *state) anotherHolds(g *gang, node *gangNode, now slotNow, n *needs) (is, known bool) {
	list, known := s.candidatesAt(now.pull, now.at, now.left, n)
	for _, c := range list {
		switch o := c.gang; {
		case o == g || o.hold != nil:
		case !o.known(n):
			known = false
		case o.lacks == "":
			offers := s.offersAt(now.pull, now.at, now.left, o)
			is = is || s.unfit(o, now.at, offers) == "" && resource.Fit(o.needs(), node.whole(offers, s.now())).OK()
		}
	}
	return is, known || is
}

// needs are what the jobs of a gang need of slots.
func (g *gang) needs() []resource.Need {
	needs := make([]resource.Need, len(g.members))
	for i := range g.members {
		m := &g.members[i]
		of := m.sh.need
		needs[i] = resource.Need{Name: m.name(), Cores: int64(of.Cores), MemoryMB: of.MemoryMB, DiskMB: of.DiskMB, WalltimeS: of.WalltimeS, Labels: of.Labels}
	}
	return needs
}

// name of a job of a group is its input.
func (m *gangMember) name() string {
	if len(m.job.piece.Inputs) > 0 {
		return m.job.piece.Inputs[0]
	}
	return fmt.Sprintf("job %d", m.job.id)
}

// unfit says why a gang cannot be at a node at all, whatever is free there: a queue that does not run one of its jobs, or claims.
func (s *state) unfit(g *gang, q *queue, offers []gangOffer) string {
	for i := range g.members {
		m := &g.members[i]
		if why := job.Fits(m.sh.need, q.Queue, m.sh.need.Labels); why != "" {
			return m.name() + ": " + why
		}
	}
	all, why := s.claimsOf(g)
	if why != "" {
		return why
	}
	if _, i, reason := resource.AdmitsAll(all, s.gangOffer(offers)); reason != "" {
		return fmt.Sprintf("%s: %s", all[i].Template.Name, reason)
	}
	return ""
}

// claimsOf are all claims of the jobs of a gang, each once. why says that one of them cannot have so many more sharers.
func (s *state) claimsOf(g *gang) (all []resource.Claim, why string) {
	at := map[*liveClaim]int{}
	var n []int
	for i := range g.members {
		live, ok := s.claims.of(&g.members[i].job)
		if !ok {
			return nil, "it is not known where the claims of its jobs are"
		}
		for _, c := range live {
			if _, seen := at[c]; !seen {
				at[c] = len(all)
				all, n = append(all, c.Claim), append(n, 0)
			}
			n[at[c]]++
		}
	}
	for i, c := range all {
		if most := c.Template.MaxSharers; most > 0 && c.Sharers+n[i] > most {
			return nil, fmt.Sprintf("%s: %s", c.Template.Name, resource.ClaimFull)
		}
	}
	return all, ""
}

// gangOffer is the node with the devices of all pulls that are offered to a gang: a claim's may be of several slots.
func (s *state) gangOffer(offers []gangOffer) (o resource.Offer) {
	for _, of := range offers {
		one := s.claims.offer(of.pull)
		o.Place = one.Place
		for _, id := range one.Devices {
			if !slices.Contains(o.Devices, id) {
				o.Devices = append(o.Devices, id)
			}
		}
	}
	return o
}
