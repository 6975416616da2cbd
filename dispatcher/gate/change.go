package gate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Effects are what follows from an entry for ready jobs and units.
type Effects struct {
	Moved   []*Party // whose sort is another, in the order in which they were made
	Turned  []*Sort  // sorts that are full from now on, or are so no more
	Charges []Charge // to take and to give back
	Costs   bool     // what pending claims are to hold has changed
	Fewer   bool     // a gang that waits has become smaller: those that are left may start
}

// Charge is units that a claim takes when it is bound, or gives back.
type Charge struct {
	Payer Payer
	Share shares.ShareID
	Queue shares.QueueID
	Units map[string]int64
	Back  bool
}

// change is what one entry does: its steps are made on the side, so that it can be refused.
type change struct {
	claims *Claims
	steps  []step
	over   []left
	queue  shares.QueueID // at which claims are bound
	fx     Effects
}

// step is what becomes of one claim.
type step struct {
	claim *claim
	next  resource.Claim
	fx    resource.ClaimEffects
}

// left is jobs of a party that are over.
type left struct {
	party *Party
	jobs  int64
}

// now is a claim after the steps so far.
func (ch *change) now(c *claim) resource.Claim {
	for _, s := range slices.Backward(ch.steps) {
		if s.claim == c {
			return s.next
		}
	}
	return c.Claim
}

func (ch *change) put(c *claim, next resource.Claim, fx resource.ClaimEffects) {
	ch.steps = append(ch.steps, step{c, next, fx})
}

// step has something happen to a claim.
func (ch *change) step(c *claim, e resource.ClaimEvent) error { return ch.stepFrom(c, ch.now(c), e) }

// stepFrom is step for a claim that was as it says: now looks at each step so far.
func (ch *change) stepFrom(c *claim, was resource.Claim, e resource.ClaimEvent) error {
	next, fx := was.Step(e)
	if fx.Refused != "" {
		return fmt.Errorf("claim %d (%s) %s: %s", c.ID, c.Key, e.Verb, fx.Refused)
	}
	ch.put(c, next, fx)
	return nil
}

func (ch *change) several(c *claim, verb resource.ClaimVerb, n int64) error {
	was, others := ch.now(c), int(n)-1
	switch {
	case was.External || was.State == resource.ClaimReleased || was.State == resource.ClaimDraining:
	case verb == resource.Dropped && was.Jobs-int(n) < was.Sharers:
		return fmt.Errorf("claim %d (%s) %s: %s", c.ID, c.Key, verb, resource.ClaimNotHeld)
	case verb == resource.Dropped:
		was.Jobs -= others
	default:
		was.Jobs += others
	}
	return ch.stepFrom(c, was, resource.ClaimEvent{Verb: verb})
}

// left notes that jobs of a party are over.
func (ch *change) left(p *Party, n int64) { ch.over = append(ch.over, left{p, n}) }

func (ch *change) commit() Effects {
	again := map[*Party]struct{}{}
	for _, s := range ch.steps {
		ch.place(s, again)
	}
	for _, o := range ch.over {
		if o.party.Jobs -= o.jobs; o.party.Jobs == 0 {
			delete(again, o.party)
			ch.forgetParty(o.party)
		}
	}
	for _, p := range sorted(again) {
		from := p.sort
		if p.sort = ch.claims.sortOf(p); p.sort != from {
			ch.fx.Moved = append(ch.fx.Moved, p)
		}
		ch.claims.release(from)
	}
	for _, s := range ch.steps {
		ch.forgetClaim(s.claim)
	}
	return ch.fx
}

// place puts one step in place; again learns which parties may have another sort for it.
func (ch *change) place(s step, again map[*Party]struct{}) {
	cs, c := ch.claims, s.claim
	was, full := c.Claim, c.full()
	cs.costs.expect(c, -1)
	c.Claim = s.next
	if c.State == resource.ClaimBound && was.State != resource.ClaimBound {
		c.Queue = ch.queue
	}
	if c.State == resource.ClaimReleased || c.State == resource.ClaimDraining {
		c.Unmade = 0
	}
	c.stands(cs)
	cs.taken.take(c, was)
	if !s.fx.Look.IsZero() {
		cs.linger.Set(c.ID, s.fx.Look)
	}
	for back, charge := range map[bool]*resource.Charge{false: s.fx.Charged, true: s.fx.Refund} {
		if charge != nil && len(charge.Units) > 0 {
			ch.fx.Charges = append(ch.fx.Charges, Charge{c.Payer, charge.Payer.Leaf, c.Queue, charge.Units, back})
		}
	}
	if was.State != c.State || was.Missing != c.Missing || was.Place != c.Place || was.Template.Name != c.Template.Name {
		ch.fx.Costs = ch.fx.Costs || len(c.Template.Resources) > 0
		maps.Copy(again, c.parties)
		return
	}
	ch.fx.Fewer = ch.fx.Fewer || c.State == resource.ClaimPending && c.Template.Gang && c.Jobs < was.Jobs
	if full != c.full() {
		for sort := range c.sorts {
			ch.fx.Turned = append(ch.fx.Turned, sort)
		}
	}
}

// taken are the devices of nodes, and the claim that has each.
type taken map[resource.Place]map[string]int64

func (ts taken) take(c *claim, was resource.Claim) {
	for _, id := range was.Devices {
		if of := ts[was.Place]; of[id] == c.ID {
			if delete(of, id); len(of) == 0 {
				delete(ts, was.Place)
			}
		}
	}
	for _, id := range c.Devices {
		of := ts[c.Place]
		if of == nil {
			of = map[string]int64{}
			ts[c.Place] = of
		}
		of[id] = c.ID
	}
}

// costs are units that pending claims are to hold.
type costs map[Payer]map[string]int64

// expect counts what a claim is to hold when it is bound, by 1 or −1.
func (cs costs) expect(c *claim, by int64) {
	if c.State != resource.ClaimPending || c.Missing || c.External || len(c.Template.Resources) == 0 {
		return
	}
	of := cs[c.Payer]
	if of == nil {
		of = map[string]int64{}
		cs[c.Payer] = of
	}
	for ref, units := range c.Template.Resources {
		if of[ref] += by * units; of[ref] == 0 {
			delete(of, ref)
		}
	}
	if len(of) == 0 {
		delete(cs, c.Payer)
	}
}

// forgetParty drops a party all of whose jobs are over.
func (ch *change) forgetParty(p *Party) {
	cs := ch.claims
	for _, s := range p.Spans {
		cs.held.drop(s.Low)
	}
	delete(cs.parties, p.key)
	for _, c := range p.claims {
		delete(c.parties, p)
	}
	cs.release(p.sort)
	for _, c := range p.claims {
		ch.forgetClaim(c)
	}
}

// forgetClaim drops a claim that is over and of no party.
func (ch *change) forgetClaim(c *claim) {
	cs := ch.claims
	over := c.State == resource.ClaimReleased || c.External && c.Deleted && c.Sharers == 0
	if over && len(c.parties) == 0 && cs.by[c.ID] == c {
		delete(cs.by, c.ID)
	}
}
