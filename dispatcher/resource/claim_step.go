package resource

import (
	"maps"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// ClaimVerb says what happened to a claim.
type ClaimVerb string

// What can happen to a claim. Each of its jobs' leases is Granted once and ends once, by Ended or Lost.
const (
	Granted     ClaimVerb = "granted"      // a job of the claim got a lease: Offer, Payer
	Ended       ClaimVerb = "ended"        // a lease ended by a report, a cancel or a revoke: Again, At
	Lost        ClaimVerb = "lost"         // a lease ran out: Again, At
	ScaledAway  ClaimVerb = "scaled away"  // the task does not want it any more
	LingerOver  ClaimVerb = "linger over"  // checks whether it lingered long enough: At
	TemplateSet ClaimVerb = "template set" // the site has it by now, or another one of that name: Template
	Joined      ClaimVerb = "joined"       // a job more shares it: a retry that is a new job, or the task was scaled
	Dropped     ClaimVerb = "dropped"      // a job without a lease is over: cancelled
)

// ClaimEvent is something that happened; the fields that a verb does not name above do not count.
type ClaimEvent struct {
	Verb     ClaimVerb
	At       time.Time // by the database's clock
	Offer    Offer
	Payer    Payer
	Again    bool // the job is ready again: a failed, lost or revoked attempt that is not the last
	Template shares.ClaimTemplate
}

// ClaimEffects are what must happen in the transaction of the event. The claim that Step gives holds only with them.
type ClaimEffects struct {
	Refused ClaimReason // it did not happen: the claim is as it was
	Charged *Charge     // to charge now, once
	Refund  *Charge     // to give back now
	Look    time.Time   // not zero: LingerOver is due then, unless the claim has a holder again
}

// Step is what becomes of a claim. Where it makes nothing of an event (it lingered too short, …)
// the claim is as it was, so events may be told twice but for those that are one lease or one job: Granted, Ended, Lost,
// Joined, Dropped. Told for a lease or a job that the claim does not have they are refused with claim_not_held.
//
//	            pending          bound                          draining                   released
//	granted     bound, charged   one more; elsewhere, full: no  refused                    refused
//	ended       refused          last one: lingers; over: r.    last one: released         refused
//	lost        refused          last one: pending at once      last one: released         refused
//	scaled away released         draining; idle: released       =                          =
//	linger over =                idle long enough: pending      =                          =
//	template …  waits no more    = until it is pending again    =                          =
//	joined      one more         one more                       refused                    refused
//	dropped     last: released   last: released                 =                          =
//
// A bound claim that no job is left for is released at once: nothing is to come that it could linger for. A claim made
// outside stays bound, whatever happens, and its sharers are not counted.
func (c Claim) Step(e ClaimEvent) (Claim, ClaimEffects) {
	switch e.Verb {
	case Granted:
		return c.granted(e)
	case Ended, Lost:
		return c.ended(e)
	case ScaledAway:
		return c.scaledAway()
	case LingerOver:
		if c.idle() && !e.At.Before(c.Since.Add(c.Template.Linger)) {
			return c.unbound()
		}
	case TemplateSet:
		if !c.External && c.State != ClaimReleased {
			c.Missing, c.Template = false, e.Template
		}
	case Joined:
		return c.joined()
	case Dropped:
		return c.dropped()
	}
	return c, ClaimEffects{}
}

// ClaimNotHeld refuses an event about a lease or a job that the claim does not have: its sender has lost count.
const ClaimNotHeld ClaimReason = "claim_not_held"

func (c Claim) refuse(why ClaimReason) (Claim, ClaimEffects) { return c, ClaimEffects{Refused: why} }

// idle reports whether a claim of ours is bound without holders.
func (c Claim) idle() bool { return c.State == ClaimBound && c.Sharers == 0 && !c.External }

func (c Claim) granted(e ClaimEvent) (Claim, ClaimEffects) {
	devices, why := c.take(e.Offer)
	switch {
	case why != "":
		return c.refuse(why)
	case c.Sharers >= c.Jobs && !c.External:
		return c.refuse(ClaimNotHeld)
	}
	var fx ClaimEffects
	if c.State == ClaimPending {
		c.State, c.Place, c.Local, c.Devices = ClaimBound, PlaceOf(c.Template, e.Offer.Place), Local(c.Template), devices
		c.Charge = Charge{Payer: e.Payer, Units: maps.Clone(c.Template.Resources)}
		fx.Charged = &Charge{Payer: c.Charge.Payer, Units: c.Charge.Units}
	}
	c.Sharers++
	c.Since = time.Time{}
	return c, fx
}

// ended is the end of one lease.
func (c Claim) ended(e ClaimEvent) (Claim, ClaimEffects) {
	if c.Sharers == 0 {
		return c.refuse(ClaimNotHeld)
	}
	c.Sharers--
	if over := !e.Again || c.State == ClaimDraining; over && !c.External { // of one that drains the job was scaled away too
		c.Jobs--
	}
	switch {
	case c.Sharers > 0 || c.External:
		return c, ClaimEffects{}
	case c.State == ClaimDraining, c.Jobs == 0, e.Verb == Lost:
		return c.unbound()
	}
	c.Since = e.At
	return c, ClaimEffects{Look: e.At.Add(c.Template.Linger)}
}

// scaledAway begins the end of a claim that the task does not want any more.
func (c Claim) scaledAway() (Claim, ClaimEffects) {
	switch {
	case c.External, c.State == ClaimDraining, c.State == ClaimReleased:
		return c, ClaimEffects{}
	case c.State == ClaimPending, c.Sharers == 0:
		c.Jobs = 0 // its ready jobs are scaled away too
		return c.unbound()
	}
	c.State = ClaimDraining
	c.Jobs = c.Sharers
	return c, ClaimEffects{}
}

func (c Claim) joined() (Claim, ClaimEffects) {
	switch {
	case c.External:
		return c, ClaimEffects{}
	case c.State == ClaimDraining:
		return c.refuse(ClaimIsDraining)
	case c.State == ClaimReleased:
		return c.refuse(ClaimIsReleased)
	}
	c.Jobs++
	return c, ClaimEffects{}
}

func (c Claim) dropped() (Claim, ClaimEffects) {
	switch {
	case c.External, c.State == ClaimReleased, c.State == ClaimDraining:
		return c, ClaimEffects{} // all that were not running were let go of when it was scaled away
	case c.Jobs <= c.Sharers:
		return c.refuse(ClaimNotHeld)
	}
	c.Jobs--
	if c.Jobs == 0 {
		return c.unbound()
	}
	return c, ClaimEffects{}
}

// unbound is a claim that nobody holds, away from its place: pending while jobs are left, else released. One that drains
// has none but those that hold it.
func (c Claim) unbound() (Claim, ClaimEffects) {
	var fx ClaimEffects
	if c.Charged() {
		fx.Refund = &Charge{Payer: c.Charge.Payer, Units: c.Charge.Units}
	}
	next := ClaimPending
	if c.Jobs == 0 {
		next = ClaimReleased
	}
	c.State, c.Place, c.Local, c.Devices, c.Charge, c.Since = next, Place{}, false, nil, Charge{}, time.Time{}
	return c, fx
}
