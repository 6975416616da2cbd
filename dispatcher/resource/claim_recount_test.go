package resource

import (
	"fmt"
	"maps"
	"slices"
)

// recount checks all that must always hold of claims, against the jobs.
func (w *world) recount() error {
	charges := map[Payer]map[string]int64{}
	devices := map[string]string{}
	live := map[ClaimKey]bool{}
	for _, c := range w.claims {
		if err := w.recountOne(c); err != nil {
			return fmt.Errorf("%s: %w: %+v", c.key.Name(), err, c.Claim)
		}
		if c.State == ClaimPending || c.State == ClaimBound {
			if live[c.key] {
				return fmt.Errorf("two claims %s", c.key.Name())
			}
			live[c.key] = true
		}
		for _, id := range c.Devices {
			at := fmt.Sprint(c.Place, id)
			if other, twice := devices[at]; twice {
				return fmt.Errorf("%s is of %s and %s", at, other, c.key.Name())
			}
			devices[at] = c.key.Name()
		}
		if c.Charged() && len(c.Charge.Units) > 0 {
			if charges[c.Charge.Payer] == nil {
				charges[c.Charge.Payer] = map[string]int64{}
			}
			for r, u := range c.Charge.Units {
				charges[c.Charge.Payer][r] += u
			}
		}
	}
	return sameCharges(charges, w.charges) // a claim's units are charged iff it is bound or drains
}

func sameCharges(want, got map[Payer]map[string]int64) error {
	all := maps.Clone(want)
	maps.Copy(all, got)
	for who := range all {
		units := maps.Clone(got[who])
		maps.DeleteFunc(units, func(_ string, u int64) bool { return u == 0 })
		if !maps.Equal(units, want[who]) {
			return fmt.Errorf("%v is charged %v, should be %v", who, units, want[who])
		}
	}
	return nil
}

func (w *world) recountOne(c *worldClaim) error {
	sharers, jobs := 0, 0
	for _, j := range w.jobs {
		if j.state == "over" || !slices.Contains(j.claims, c) {
			continue
		}
		jobs++
		if j.state != "running" {
			continue
		}
		sharers++
		if c.Local && j.at != c.Place {
			return fmt.Errorf("%s runs at %v", j.Name(), j.at)
		}
	}
	bound := c.State == ClaimBound || c.State == ClaimDraining
	switch {
	case sharers != c.Sharers:
		return fmt.Errorf("has %d sharers", sharers)
	case !c.External && jobs != c.Jobs:
		return fmt.Errorf("has %d jobs", jobs)
	case sharers > 0 && !bound:
		return fmt.Errorf("is held")
	case c.State == ClaimDraining && sharers == 0:
		return fmt.Errorf("drains for nobody")
	case c.State == ClaimReleased && jobs > 0:
		return fmt.Errorf("is over, its jobs are not")
	case c.External && c.State != ClaimBound:
		return fmt.Errorf("is not ours to move")
	case !c.External && !bound && (c.Place != Place{} || c.Devices != nil || c.Local):
		return fmt.Errorf("is somewhere")
	case !c.External && c.State == ClaimBound && (sharers == 0) == c.Since.IsZero():
		return fmt.Errorf("lingers wrongly")
	case !c.External && c.State == ClaimBound && jobs == 0:
		return fmt.Errorf("lingers for nobody")
	}
	return nil
}
