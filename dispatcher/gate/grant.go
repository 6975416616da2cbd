package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Grant is a lease of a job that holds claims.
type Grant struct {
	Job   int64
	Place resource.Place
	Queue shares.QueueID
	Share shares.ShareID // who is charged for the claims that it binds
}

// Granted has the job hold its claims; those that are pending are bound, with the devices of the entry Took before it. An error
// says which of them it cannot hold: then nothing was changed.
func (cs *Claims) Granted(g Grant) (Effects, error) {
	p := cs.Of(g.Job)
	if p == nil {
		return Effects{}, nil
	}
	offer := resource.Offer{Place: g.Place}
	if cs.took.Job == g.Job {
		offer.Devices = cs.took.Devices
	}
	for _, id := range offer.Devices {
		if of := cs.taken[g.Place][id]; of != 0 {
			return Effects{}, fmt.Errorf("claim %d has %s of node %s", of, id, g.Place.Node)
		}
	}
	ch := change{claims: cs, queue: g.Queue}
	for _, c := range p.claims {
		pays := resource.Payer{Leaf: g.Share, ID: c.Payer.SharingID}
		if err := ch.step(c, resource.ClaimEvent{Verb: resource.Granted, Offer: offer, Payer: pays}); err != nil {
			return Effects{}, err
		}
		if c.State == resource.ClaimPending {
			offer.Devices = resource.WithoutDevices(offer.Devices, ch.now(c).Devices)
		}
	}
	cs.took.Job = 0
	return ch.commit(), nil
}

// End is the end of a lease of a job that holds claims.
type End struct {
	Job   int64
	Lost  bool // the lease ran out
	Again bool // the job is not over
}

// Ended takes the job's claims from it. A claim without holders lingers, or is unbound or released.
func (cs *Claims) Ended(e End) (Effects, error) {
	p := cs.Of(e.Job)
	if p == nil {
		return Effects{}, nil
	}
	verb := resource.Ended
	if e.Lost {
		verb = resource.Lost
	}
	ch := change{claims: cs}
	for _, c := range p.claims {
		if err := ch.step(c, resource.ClaimEvent{Verb: verb, At: cs.now, Again: e.Again}); err != nil {
			return Effects{}, err
		}
		if next := ch.now(c); c.External && c.Deleted {
			ch.put(c, gone(next), resource.ClaimEffects{})
		} else if next.State == resource.ClaimBound && next.Sharers == 0 && !c.External && next.Template.Linger <= 0 {
			if err := ch.step(c, resource.ClaimEvent{Verb: resource.LingerOver, At: cs.now}); err != nil {
				return Effects{}, err
			}
		}
	}
	if !e.Again {
		ch.left(p, 1)
	}
	return ch.commit(), nil
}

// Recharged has another share pay for the bound claims of a job.
func (cs *Claims) Recharged(job int64, to shares.ShareID) (fx Effects) {
	p := cs.Of(job)
	if p == nil {
		return fx
	}
	for _, c := range p.claims {
		if from := c.Charge.Payer.Leaf; c.Charged() && from != to && len(c.Charge.Units) > 0 {
			c.Charge.Payer.Leaf = to
			fx.Charges = append(fx.Charges, Charge{c.Payer, from, c.Queue, c.Charge.Units, true}, Charge{c.Payer, to, c.Queue, c.Charge.Units, false})
		}
	}
	return fx
}

// Charged are the units that claims hold now, in the order of the claims.
func (cs *Claims) Charged() (all []Charge) {
	for _, id := range slices.Sorted(maps.Keys(cs.by)) {
		if c := cs.by[id]; c.Charged() && len(c.Charge.Units) > 0 {
			all = append(all, Charge{c.Payer, c.Charge.Payer.Leaf, c.Queue, c.Charge.Units, false})
		}
	}
	return all
}

// Starts bounds how many jobs of a sort could use the units that their claims are to hold: of jobs that share a claim the first
// takes them, so that they want no more than the claims do.
func (cs *Claims) Starts(s *Sort, jobs int64) int64 {
	of := cs.costs[s.Payer]
	for ref, units := range s.Need.Resources {
		jobs = min(jobs, (of[ref]+units-1)/units)
	}
	return jobs
}

// Free are the devices of a node that a slot offers and no claim has.
func (cs *Claims) Free(at resource.Place, offered []string) []string {
	taken := cs.taken[at]
	if len(taken) == 0 {
		return offered
	}
	return slices.DeleteFunc(slices.Clone(offered), func(id string) bool { return taken[id] != 0 })
}

// Pick are the devices that the claims of a job would take of those that are free in a slot. A reason says that they do not admit
// the job there, and claim which of them.
func (cs *Claims) Pick(job int64, o resource.Offer) (devices []string, reason resource.ClaimReason, claim int64) {
	p := cs.Of(job)
	if p == nil {
		return nil, "", 0
	}
	all := make([]resource.Claim, len(p.claims))
	for i, c := range p.claims {
		all[i] = c.Claim
	}
	o.Devices = cs.Free(o.Place, o.Devices)
	each, refused, reason := resource.AdmitsAll(all, o)
	if reason != "" {
		return nil, reason, p.claims[refused].ID
	}
	return slices.Concat(each...), "", 0
}

// Shown is a claim for people.
type Shown struct {
	SavedClaim
	of *claim
}

// Claim shows one; false if there is no such claim.
func (cs *Claims) Claim(id int64) (Shown, bool) {
	c := cs.by[id]
	if c == nil {
		return Shown{}, false
	}
	return Shown{c.SavedClaim, c}, true
}

// HeldBy are the claims of a job.
func (cs *Claims) HeldBy(job int64) []int64 {
	if p := cs.Of(job); p != nil {
		return slices.Clone(p.Claims)
	}
	return nil
}

// Digest adds all that follows from the log.
func (cs *Claims) Digest(add func(values ...any)) {
	for _, id := range slices.Sorted(maps.Keys(cs.by)) {
		c := cs.by[id]
		since := time.Time{}
		if c.State == resource.ClaimBound {
			since = c.Since
		}
		add(id, c.Task, c.Key, c.Payer, c.Unmade, c.Queue, c.Deleted, c.State, c.External, c.Template, c.Missing, c.Place, c.Local, c.Devices)
		add(c.Charge, c.Sharers, c.Jobs, since)
	}
	for _, p := range slices.SortedFunc(maps.Values(cs.parties), func(a, b *Party) int { return cmp.Compare(a.key, b.key) }) {
		add(p.key, p.Task, p.Spans, p.Jobs, p.sort.text, p.sort.Full())
	}
}
