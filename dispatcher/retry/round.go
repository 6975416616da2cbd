package retry

import (
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Bounds of a round.
const (
	MostOrders = 200    // that it gives
	MostOpen   = 10_000 // orders that are open: as many, and it gives none
)

// Candidate is an attempt that could be ended for a claimer.
type Candidate struct {
	JobID   int64
	Attempt int32
	Nonce   int64 // of its lease
	Running
	Age time.Duration
}

// Order says that an attempt is to end, and for whom.
type Order struct {
	Candidate
	Pool    string
	Claimer shares.ShareID
	Plan    shares.ShareID // whose reclaim it is
	Grace   time.Duration
}

// Search is what an ask needs to know: the attempts that could give what it lacks.
type Search struct {
	Ask
	Most int // of each share, the youngest ones suffice

	snapshot *Snapshot
	orders   int // at the most
}

// Round chooses which attempts end, in all pools. Its caller looks for what Next asks for among Young and hands it to Choose, until Next has
// no more.
type Round struct {
	Orders []Order
	Given  map[Claimer]shares.Units // by orders, and not taken by the claimer

	pools []*Snapshot
	asked int                    // asks of the first pool that were served
	rates map[shares.ShareID]int // by plan with a rate: orders that it may still give
}

// NewRound foresees in every snapshot what was ordered before.
func NewRound(pools []*Snapshot, open []Open, recent []Recent) *Round {
	r := &Round{Given: map[Claimer]shares.Units{}, rates: map[shares.ShareID]int{}}
	for _, c := range recent {
		r.Given[Claimer{c.Pool, c.ClaimerID}] = c.Open + c.Freed - c.Taken
	}
	if len(open) >= MostOpen {
		return r
	}
	r.pools = slices.Clone(pools)
	for _, s := range pools {
		s.foresee(open, recent)
		s.sort()
	}
	return r
}

// Rates returns the plans that have a rate, and the time of each. What they ordered within it is to be told to Spend before Next.
func (r *Round) Rates() (plans []shares.ShareID, per []time.Duration) {
	for _, s := range r.pools {
		for _, a := range s.Asks {
			rate := a.Back.Terms.Rate
			if _, known := r.rates[a.Plan]; !known && rate.Per > 0 {
				r.rates[a.Plan] = rate.Jobs
				plans, per = append(plans, a.Plan), append(per, time.Duration(rate.Per))
			}
		}
	}
	return plans, per
}

// Spend notes that a plan has given so many orders lately.
func (r *Round) Spend(plan shares.ShareID, orders int) {
	if _, limited := r.rates[plan]; limited {
		r.rates[plan] -= orders
	}
}

// Next returns the next ask for which something can be taken.
func (r *Round) Next() (Search, bool) {
	for ; len(r.pools) > 0; r.pools, r.asked = r.pools[1:], 0 {
		for s := r.pools[0]; r.asked < len(s.Asks); {
			ask := s.Asks[r.asked]
			r.asked++
			if search, ok := r.search(s, ask); ok {
				return search, true
			}
		}
	}
	return Search{}, false
}

// search reduces an ask by what is on its way and by what may be ordered.
func (r *Round) search(s *Snapshot, a Ask) (Search, bool) {
	most := MostOrders - len(r.Orders)
	if n, limited := r.rates[a.Plan]; limited {
		most = min(most, n)
	}
	most = max(most, 0)
	covered := min(s.coming[a.Share], a.Back.Units)
	s.coming[a.Share] -= covered
	a.Back.Units = min(a.Back.Units-covered, shares.Units(most)*a.Back.Job)
	if a.Back.Units < a.Back.Job || s.hopeless(a.Back) {
		return Search{}, false
	}
	// No share gives more jobs than that, unless the slots in which it runs are much slower than the claimer's would be.
	return Search{Ask: a, Most: min(4*int(a.Back.Units/a.Back.Job), MostOrders), snapshot: s, orders: most}, true
}

// Choose orders the end of candidates for the ask of a search, and lets it come true in the snapshot. It returns how many.
func (r *Round) Choose(s Search, candidates []Candidate) (n int) {
	tree, floors := s.snapshot.Book.Tree(), s.snapshot.Floors.copied()
	var now time.Time
	byJob := map[int64]Candidate{}
	var jobs []shares.Running
	for _, c := range candidates {
		leaf, ok := s.snapshot.leaf(c.ShareID)
		if ok && !r.orders(c.JobID) && floors.spares(tree, c.Running) {
			floors.take(tree, c.Running)
			byJob[c.JobID] = c
			started := now.Add(-c.Age)
			jobs = append(jobs, shares.Running{ID: c.JobID, Leaf: leaf, Units: c.Units, Started: started})
		}
	}
	victims := s.snapshot.Book.Victims(s.snapshot.R, s.Back, jobs, now)
	victims = victims[:min(len(victims), s.orders)]
	for _, v := range victims {
		c := byJob[v.ID]
		s.snapshot.pass(v.Leaf, s.Back.Leaf, v.Units)
		s.snapshot.Floors.take(tree, c.Running)
		r.Given[Claimer{s.snapshot.Pool, s.Share}] += v.Units
		r.Orders = append(r.Orders, Order{Candidate: c, Pool: s.snapshot.Pool, Claimer: s.Share, Plan: s.Plan, Grace: time.Duration(s.Back.Terms.Grace)})
	}
	r.Spend(s.Plan, len(victims))
	return len(victims)
}

// orders reports whether a job has an order of this round.
func (r *Round) orders(job int64) bool {
	return slices.ContainsFunc(r.Orders, func(o Order) bool { return o.JobID == job })
}
