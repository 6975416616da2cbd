package gate

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// Gang is the jobs of a pending claim that start together.
type Gang struct {
	Claim   int64
	Task    int64
	Parties []*Party
	Ready   []int64 // jobs, by party
	Lacks   string  // why it cannot start anywhere yet; empty: it can
}

// Holders are the first jobs that hold the claim, at most most, and before the next entry; none where they are not among its first jobs.
func (s Shown) Holders(most int, leased func(job int64) bool) (jobs []int64) {
	if s.Sharers == 0 || s.of == nil {
		return nil
	}
	looked := 0
	for _, p := range sorted(s.of.parties) {
		for _, ids := range p.Spans {
			for job := ids.Low; job <= ids.High; job++ {
				if looked++; looked > holdersLooked || len(jobs) >= most {
					return jobs
				}
				if leased(job) {
					jobs = append(jobs, job)
				}
			}
		}
	}
	return jobs
}

// holdersLooked bounds the jobs among which holders of a claim are looked for.
const holdersLooked = 1000

// GangOf is the claim of a job's gang; false if it has none that waits to start.
func (cs *Claims) GangOf(job int64) (claim int64, ok bool) {
	for _, id := range cs.HeldBy(job) {
		if cs.by[id].gathers() {
			return id, true
		}
	}
	return 0, false
}

// gathers says whether jobs of a claim wait to start together; not of none.
func (c *claim) gathers() bool {
	return c != nil && c.State == resource.ClaimPending && c.Template.Gang && !c.Missing
}

// Gang is that of a claim; false if it is over, or has started. ready says how many jobs of a party are.
func (cs *Claims) Gang(claim int64, ready func(*Party) int64) (g Gang, ok bool) {
	c := cs.by[claim]
	if !c.gathers() {
		return g, false
	}
	g = Gang{Claim: c.ID, Task: c.Task, Parties: sorted(c.parties)}
	var n int64
	for i, of := range g.Parties {
		g.Ready = append(g.Ready, ready(of))
		n += g.Ready[i]
		if of.sort.Waits() || of.sort.Full() {
			g.Lacks = "claims of its jobs are elsewhere, full or missing"
		}
	}
	switch {
	case c.Unmade > 0:
		g.Lacks = "some of its jobs are still to be made"
	case n < int64(c.Jobs):
		g.Lacks = "some of its jobs are not ready"
	}
	return g, true
}

// AdmitsGang are the devices that all claims of a gang would take of those that slots of a node offer, or why they do not admit it.
func (cs *Claims) AdmitsGang(g Gang, o resource.Offer) (devices []string, reason resource.ClaimReason) {
	var all []resource.Claim
	var jobs []int
	at := map[*claim]int{}
	for k, p := range g.Parties {
		for _, c := range p.claims {
			i, seen := at[c]
			if !seen {
				i = len(all)
				at[c], all, jobs = i, append(all, c.Claim), append(jobs, 0)
			}
			jobs[i] += int(g.Ready[k])
		}
	}
	for i, c := range all {
		if most := c.Template.MaxSharers; most > 0 && c.Sharers+jobs[i] > most {
			return nil, resource.ClaimFull
		}
	}
	o.Devices = cs.Free(o.Place, o.Devices)
	each, _, reason := resource.AdmitsAll(all, o)
	return slices.Concat(each...), reason
}

// Pending are the units that the claims of a gang are to hold.
func (g Gang) Pending() map[string]int64 {
	units, seen := map[string]int64{}, map[*claim]bool{}
	for _, p := range g.Parties {
		for _, c := range p.claims {
			if c.State == resource.ClaimPending && !seen[c] {
				seen[c] = true
				for ref, n := range c.Template.Resources {
					units[ref] += n
				}
			}
		}
	}
	return units
}
