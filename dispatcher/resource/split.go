package resource

import "time"

// split is how units are shared out, and whose turn it is: even where everybody counts the same, otherwise weighted.
type split interface {
	// touch notes that a member changed, void that the number of units did.
	touch(i int32)
	void()
	// below says whether a member that is not exempt holds less than its allowance, and how many of those who do go before
	// it: who is below its exact part rounded down comes before who waits for an odd unit; then who holds least for its
	// weight; then who waited longest.
	below(p *Pool, i int32, now time.Time) (is bool, before int64)
	// again says whether what below goes by was just brought up to date, for an answer that it would refuse; late is when it
	// will be, at the latest, zero when it is.
	again(p *Pool, now time.Time) bool
	late(p *Pool) time.Time
	// allowances fills in what each member that is not exempt may hold now, and what of it is not an odd unit.
	allowances(p *Pool, all, floor []int64)
	// next is Pool.Next.
	next(p *Pool, now time.Time) (ids []string, all bool)
}

func newSplit(p *Pool) split {
	if len(p.spec.Split.Weights) == 0 && len(p.spec.Split.Tree) == 0 {
		return newEven()
	}
	return newWeighted(p)
}

// unseen is what a split has not looked at yet.
type unseen struct {
	stale   bool    // what it found is void
	changes int     // of members, since it last shared out
	dirty   []int32 // members that changed since it last looked
	queued  []bool  // by member: it is in dirty
}

func (u *unseen) void() { u.stale = true }

func (u *unseen) touch(i int32) {
	u.changes++
	for int(i) >= len(u.queued) {
		u.queued = append(u.queued, false)
	}
	if !u.queued[i] {
		u.queued[i] = true
		u.dirty = append(u.dirty, i)
	}
}
