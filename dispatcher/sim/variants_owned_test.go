package sim

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// ownedVariants break what is promised of what the owners of units say, and of what shares own and take back.
var ownedVariants = []variant{
	{"report-never-too-old", "", resources(func(r *shares.Resource) { r.ExternalExpires = forever })},
	{"report-counts-ours-twice", "", rewritten(func(e entry.Entry) entry.Entry {
		r, ok := e.(entry.Reported)
		if ok {
			r.Settled = 0
			return r
		}
		return e
	})},
	{"report-ignored", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Reported); ok {
			return nil
		}
		return e
	})},
	{"owned-ignored", "", adopted(func(v *shares.Version) {
		plans(v, func(p *shares.Plan) { p.Owned = shares.Amount{} })
	})},
	{"place-ignored", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Placed); ok {
			return nil
		}
		return e
	})},
	{"borrowed-without-limit", "", adopted(func(v *shares.Version) {
		plans(v, func(p *shares.Plan) { p.Borrow = shares.Limit{} })
	})},
	{"lent-without-limit", "", adopted(func(v *shares.Version) {
		plans(v, func(p *shares.Plan) { p.Lend = shares.Limit{} })
	})},
	{"reclaim-of-the-claimer", "", reclaims(func(o retry.Order, c retry.Candidate) bool { return c.ShareID == o.Claimer }, false)},
	{"reclaim-of-what-is-owned", "", reclaims(func(o retry.Order, c retry.Candidate) bool { return c.ShareID == o.ShareID }, true)},
	{"reclaim-of-more-than-is-owed", "", reclaims(func(o retry.Order, c retry.Candidate) bool { return c.ShareID != o.Claimer }, true)},
	{"reclaim-of-the-oldest", "", reclaims(func(o retry.Order, c retry.Candidate) bool { return c.ShareID == o.ShareID && c.Age > o.Age }, false)},
	{"reclaimed-is-over", "", configured(func(c *lease.Config) {
		end := c.End
		c.End = func(l machine.Lease, e entry.Ended) entry.Ended {
			if e = end(l, e); e.Outcome == entry.Returned && e.Next == entry.Again {
				e.Next = entry.Over
			}
			return e
		}
	})},
	{"owed-comes-not-first", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Owed); ok {
			return nil
		}
		return e
	})},
}

// ownedWanted is what must be said of them.
var ownedWanted = map[string]string{
	"report-never-too-old": "usable units", "report-counts-ours-twice": "usable units", "report-ignored": "units, and",
	"place-ignored": "place", "borrowed-without-limit": "and it may borrow", "lent-without-limit": " keeps ", "owned-ignored": "short of its target", "reclaim-of-the-claimer": "for itself", "reclaim-of-what-is-owned": " and owns ", "reclaim-of-more-than-is-owed": "is owed",
	"reclaim-of-the-oldest": "is newer", "reclaimed-is-over": "was given back", "owed-comes-not-first": "comes first",
}

// resources changes the resources of all versions of the site.
func resources(change func(r *shares.Resource)) func(*Wiring) {
	return adopted(func(v *shares.Version) {
		v.Resources = slices.Clone(v.Resources)
		for i := range v.Resources {
			change(&v.Resources[i])
		}
	})
}

// reclaims has orders be about other attempts at the same queue, or about these too.
func reclaims(of func(o retry.Order, c retry.Candidate) bool, too bool) func(*Wiring) {
	return func(w *Wiring) {
		w.Reclaim = func(orders []retry.Order, all []retry.Candidate) (others []retry.Order) {
			had := map[int64]bool{}
			for _, o := range orders {
				had[o.JobID] = true
			}
			for _, o := range orders {
				if too {
					others = append(others, o)
				}
				for _, c := range all {
					if of(o, c) && c.QueueID == o.QueueID && !had[c.JobID] {
						had[c.JobID] = true
						other := o
						other.Candidate = c
						if others = append(others, other); !too {
							break
						}
					}
				}
			}
			return others
		}
	}
}
