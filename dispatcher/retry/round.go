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

// Order says that an attempt is to end, and for which share.
type Order struct {
	Candidate
	Pool    string
	Claimer shares.ShareID
	Plan    shares.ShareID // whose reclaim it is
	GraceS  int32
}

// Round chooses which attempts end, in all pools.
type Round struct {
	Orders []Order
	Given  map[Claimer]shares.Units // by orders, and not taken by the claimer

	pools []*Snapshot
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
	r.pools = pools
	for _, s := range pools {
		s.foresee(open, recent)
		s.sort()
	}
	return r
}

// Rate is the time within which a plan gives so many orders at the most.
type Rate struct {
	Plan shares.ShareID
	PerS float64
}

// Rates returns the plans that have a rate. What they ordered within it is to be told to Spend before Choose.
func (r *Round) Rates() (rates []Rate) {
	for _, s := range r.pools {
		for _, a := range s.Asks {
			rate := a.Back.Terms.Rate
			if _, known := r.rates[a.Plan]; !known && rate.Per > 0 {
				r.rates[a.Plan] = rate.Jobs
				rates = append(rates, Rate{a.Plan, time.Duration(rate.Per).Seconds()})
			}
		}
	}
	return rates
}

// Spend notes that a plan has given so many orders lately.
func (r *Round) Spend(plan shares.ShareID, orders int) {
	if _, limited := r.rates[plan]; limited {
		r.rates[plan] -= orders
	}
}

// Choose orders the end of attempts, ask by ask. What runs is looked at once, and only where something could be taken: look is to add it
// to Young.
func (r *Round) Choose(look func(*Young) error) error {
	var young *Young
	for _, s := range r.pools {
		for _, ask := range s.Asks {
			a, most := r.left(s, ask)
			if most == 0 {
				continue
			}
			if young == nil {
				young = NewYoung(r.asks())
				if err := look(young); err != nil {
					return err
				}
			}
			// No share gives more jobs than that, unless the slots in which it runs are much slower than the claimer's would be.
			each := min(4*int(a.Back.Units/a.Back.Job), MostOrders)
			r.choose(s, a, most, young.Among(a, each))
		}
	}
	return nil
}

func (r *Round) asks() (all []Ask) {
	for _, s := range r.pools {
		all = append(all, s.Asks...)
	}
	return all
}

// left reduces an ask by what is on its way and by what may be ordered, and says how many orders that are at the most; 0: nothing is to be taken.
func (r *Round) left(s *Snapshot, a Ask) (Ask, int) {
	most := MostOrders - len(r.Orders)
	if n, limited := r.rates[a.Plan]; limited {
		most = min(most, n)
	}
	most = max(most, 0)
	covered := min(s.coming[a.Share], a.Back.Units)
	s.coming[a.Share] -= covered
	a.Back.Units = min(a.Back.Units-covered, shares.Units(most)*a.Back.Job)
	if a.Back.Units < a.Back.Job || s.hopeless(a.Back) {
		return a, 0
	}
	return a, most
}

// choose orders the end of candidates for an ask, so many at the most, and lets it come true in the snapshot. Who has not taken what came free
// for it gives nothing: it holds less than it is thought to.
func (r *Round) choose(s *Snapshot, a Ask, most int, candidates []Candidate) {
	tree, floors := s.Book.Tree(), s.Floors.copied()
	var now time.Time
	byJob := map[int64]Candidate{}
	var jobs []shares.Running
	for _, c := range candidates {
		leaf, ok := s.leaf(c.ShareID)
		if ok && !s.untook[c.ShareID] && !r.orders(c.JobID) && floors.spares(tree, c.Running) {
			floors.take(tree, c.Running)
			byJob[c.JobID] = c
			jobs = append(jobs, shares.Running{ID: c.JobID, Leaf: leaf, Units: c.Units, Started: now.Add(-c.Age)})
		}
	}
	victims := s.Book.Victims(s.R, a.Back, jobs, now)
	victims = victims[:min(len(victims), most)]
	for _, v := range victims {
		c := byJob[v.ID]
		s.pass(v.Leaf, a.Back.Leaf, v.Units)
		s.Floors.take(tree, c.Running)
		r.Given[Claimer{s.Pool, a.Share}] += v.Units
		r.Orders = append(r.Orders, Order{Candidate: c, Pool: s.Pool, Claimer: a.Share, Plan: a.Plan, GraceS: int32(time.Duration(a.Back.Terms.Grace).Seconds())})
	}
	r.Spend(a.Plan, len(victims))
}

func (r *Round) orders(job int64) bool {
	return slices.ContainsFunc(r.Orders, func(o Order) bool { return o.JobID == job })
}
