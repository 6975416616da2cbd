package retry_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

const unit = shares.Units(1000)

// pool is a pool of one queue with leaves of weight 1, whose ids are their nodes. Leaves hold jobs of one core; all have more that
// are ready, and those with terms ask for what these could use.
type pool struct {
	held   []int // by leaf
	room   int   // jobs that an ask is for, of a hundred that are ready; 0: all
	asks   map[int]shares.Reclaim
	floors []retry.Floor
}

func (p pool) tree(t interface{ Fatal(...any) }) *shares.Tree {
	var specs []shares.Spec
	ids := map[string]shares.ShareID{}
	for i := range p.held {
		spec := shares.Spec{Name: string(rune('A' + i)), Plan: shares.DefaultPlan()}
		if terms, ok := p.asks[i+1]; ok {
			spec.Plan.Reclaim = &terms
		}
		specs, ids[spec.Name] = append(specs, spec), shares.ShareID(i+1)
	}
	tree, err := shares.Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	return tree
}

// snapshot is the pool at this moment.
func (p pool) snapshot(t interface{ Fatal(...any) }) *retry.Snapshot {
	tree := p.tree(t)
	room := shares.Units(cmp.Or(p.room, 100)) * unit
	capacity := shares.Units(0)
	for _, n := range p.held {
		capacity += shares.Units(n) * unit
	}
	live := shares.NewPool(tree, "default")
	for i, n := range p.held {
		live.Hold(i+1, shares.Units(n)*unit)
		live.SetWant(i+1, 100*unit)
	}
	live.SetCapacity(capacity)
	s := &retry.Snapshot{Pool: "default", Book: live, R: capacity, Floors: retry.Floors{List: slices.Clone(p.floors)}}
	for leaf := range len(p.held) + 1 {
		if terms, ok := p.asks[leaf]; ok {
			s.Asks = append(s.Asks, retry.Ask{Share: shares.ShareID(leaf), Plan: shares.ShareID(leaf), Cores: 1, Queues: []shares.QueueID{1},
				Back: shares.Ask{Leaf: leaf, Units: room, Job: unit, Terms: terms}})
		}
	}
	return s
}

// running are the jobs of the pool: of each leaf the later ones are older, by a minute.
func (p pool) running() (all []retry.Candidate) {
	for i, n := range p.held {
		for k := range n {
			all = append(all, retry.Candidate{JobID: int64(100*(i+1) + k), Nonce: int64(k), Age: time.Duration(k) * time.Minute,
				Running: retry.Running{QueueID: 1, ShareID: shares.ShareID(i + 1), Cores: 1, Units: unit}})
		}
	}
	return all
}

// run serves every ask of a round.
func run(round *retry.Round, all []retry.Candidate) (jobs []int64) {
	_ = round.Choose(func(young *retry.Young) error {
		for _, c := range all {
			young.Add(c)
		}
		return nil
	})
	for _, o := range round.Orders {
		jobs = append(jobs, o.JobID)
	}
	return jobs
}

func TestRound(t *testing.T) {
	full := pool{held: []int{10, 0}, asks: map[int]shares.Reclaim{2: {}}}
	with := func(terms shares.Reclaim) pool { return pool{held: full.held, asks: map[int]shares.Reclaim{2: terms}} }
	floor := func(queue shares.QueueID, class string, spare int64, leaves ...int) pool {
		return pool{held: full.held, asks: full.asks, floors: []retry.Floor{{Queue: queue, Class: class, Leaves: leaves, Spare: spare}}}
	}
	open := func(n int) (all []retry.Open) {
		for range n {
			all = append(all, retry.Open{Pool: "default", ClaimerID: 2, VictimID: 1, Units: unit, QueueID: 1, Cores: 1})
		}
		return all
	}
	recent := func(o, freed, taken shares.Units) []retry.Recent {
		return []retry.Recent{{Pool: "default", ClaimerID: 2, Open: o * unit, Freed: freed * unit, Taken: taken * unit}}
	}
	for name, c := range map[string]struct {
		pool   pool
		open   []retry.Open
		recent []retry.Recent
		spent  int
		want   []int64
		given  shares.Units
	}{
		"the youngest, up to the target":       {pool: full, want: []int64{100, 101, 102, 103, 104}, given: 5},
		"everybody has its target":             {pool: pool{held: []int{5, 5}, asks: map[int]shares.Reclaim{1: {}, 2: {}}}},
		"some are on their way":                {pool: full, open: open(3), recent: recent(3, 0, 0), want: []int64{100, 101}, given: 5},
		"all are on their way":                 {pool: full, open: open(5), recent: recent(5, 0, 0), given: 5},
		"as many as there is room for":         {pool: pool{held: full.held, room: 3, asks: full.asks}, want: []int64{100, 101, 102}, given: 3},
		"some of these are on their way":       {pool: pool{held: full.held, room: 3, asks: full.asks}, open: open(2), want: []int64{100}, given: 1},
		"all of these are on their way":        {pool: pool{held: full.held, room: 3, asks: full.asks}, open: open(3)},
		"orders in another pool":               {pool: full, open: []retry.Open{{Pool: "gpu", ClaimerID: 2, VictimID: 1, Units: 5 * unit}}, want: []int64{100, 101, 102, 103, 104}, given: 5},
		"of a share that is gone":              {pool: full, open: []retry.Open{{Pool: "default", ClaimerID: 2, VictimID: 9, Units: 5 * unit}}, want: []int64{100, 101, 102, 103, 104}, given: 5},
		"came free and was not taken":          {pool: pool{held: []int{8, 0}, asks: full.asks}, recent: recent(0, 2, 0), want: []int64{100, 101}, given: 4},
		"came free and was taken":              {pool: pool{held: []int{8, 2}, asks: full.asks}, recent: recent(0, 2, 2), want: []int64{100, 101, 102}, given: 3},
		"a rate":                               {pool: with(shares.Reclaim{Rate: shares.Rate{Jobs: 3, Per: shares.Duration(time.Minute)}}), want: []int64{100, 101, 102}, given: 3},
		"a rate of which some is spent":        {pool: with(shares.Reclaim{Rate: shares.Rate{Jobs: 3, Per: shares.Duration(time.Minute)}}), spent: 2, want: []int64{100}, given: 1},
		"a rate that is spent":                 {pool: with(shares.Reclaim{Rate: shares.Rate{Jobs: 3, Per: shares.Duration(time.Minute)}}), spent: 4},
		"no rate":                              {pool: full, spent: 4, want: []int64{100, 101, 102, 103, 104}, given: 5},
		"young jobs are spared":                {pool: with(shares.Reclaim{MinRuntime: shares.Duration(2 * time.Minute)}), want: []int64{102, 103, 104, 105, 106}, given: 5},
		"a floor":                              {pool: floor(1, "", 2, 1), want: []int64{100, 101}, given: 2},
		"a floor that is not reached":          {pool: floor(1, "", -1, 1)},
		"a floor, and orders that are open":    {pool: floor(1, "", 2, 1), open: open(1), want: []int64{100}, given: 1},
		"a floor elsewhere":                    {pool: floor(2, "", 0, 1), want: []int64{100, 101, 102, 103, 104}, given: 5},
		"a floor of others":                    {pool: floor(1, "", 0, 2), want: []int64{100, 101, 102, 103, 104}, given: 5},
		"a floor of another class":             {pool: floor(1, "wide", 0, 1), want: []int64{100, 101, 102, 103, 104}, given: 5},
		"too many are open in the whole":       {pool: full, open: open(retry.MostOpen), recent: recent(4, 0, 0), given: 4},
		"who is furthest below is served":      {pool: pool{held: []int{10, 2, 0}, asks: map[int]shares.Reclaim{2: {}, 3: {}}}, want: []int64{100, 101, 102, 103, 104, 105}, given: 2},
		"nobody asks, and something came free": {pool: pool{held: []int{8, 2}}, recent: recent(0, 2, 1), given: 1},
	} {
		t.Run(name, func(t *testing.T) {
			round := retry.NewRound([]*retry.Snapshot{c.pool.snapshot(t)}, c.open, c.recent)
			round.Rates()
			round.Spend(2, c.spent)
			if diff := gocmp.Diff(c.want, run(round, c.pool.running())); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
			if got := round.Given[retry.Claimer{Pool: "default", Share: 2}]; got != c.given*unit {
				t.Errorf("given %v, want %v", got, c.given*unit)
			}
		})
	}
}

// An order names what is to be written of it; the first claimer to be served is the one that is furthest below its target.
func TestOrders(t *testing.T) {
	p := pool{held: []int{10, 2, 0}, asks: map[int]shares.Reclaim{2: {Grace: shares.Duration(time.Minute)}, 3: {Grace: shares.Duration(time.Hour)}}}
	round := retry.NewRound([]*retry.Snapshot{p.snapshot(t)}, nil, nil)
	run(round, p.running())
	want := retry.Order{Candidate: p.running()[0], Pool: "default", Claimer: 3, Plan: 3, GraceS: 3600}
	if len(round.Orders) == 0 || !gocmp.Equal(round.Orders[0], want) {
		t.Errorf("%+v, want %+v first", round.Orders, want)
	}
}

func TestRates(t *testing.T) {
	p := pool{held: []int{10, 0, 0}, asks: map[int]shares.Reclaim{2: {Rate: shares.Rate{Jobs: 1, Per: shares.Duration(time.Hour)}}, 3: {}}}
	s := p.snapshot(t)
	s.Asks = append(s.Asks, s.Asks[0]) // of another shape
	if rates := retry.NewRound([]*retry.Snapshot{s}, nil, nil).Rates(); !slices.Equal(rates, []retry.Rate{{Plan: 2, PerS: 3600}}) {
		t.Errorf("%v, want that of the one plan with a rate, once", rates)
	}
}

func TestAmong(t *testing.T) {
	ask := retry.Ask{Share: 9, Cores: 2, Queues: []shares.QueueID{1, 3}, Back: shares.Ask{Terms: shares.Reclaim{MinRuntime: shares.Duration(time.Minute)}}}
	job := func(id int64, share shares.ShareID, queue shares.QueueID, cores int64, ageS float64) retry.Candidate {
		return retry.Candidate{JobID: id, Age: time.Duration(ageS * float64(time.Second)), Running: retry.Running{QueueID: queue, ShareID: share, Cores: cores}}
	}
	all := []retry.Candidate{
		job(1, 1, 1, 2, 300), job(2, 1, 1, 2, 100), job(3, 1, 3, 4, 200), job(4, 1, 1, 2, 59), job(5, 1, 1, 1, 100), job(6, 1, 2, 2, 100),
		job(7, 2, 1, 2, 60), job(8, 2, 1, 2, 60), job(9, 2, 1, 2, 60), job(10, 9, 1, 2, 100),
	}
	young := retry.NewYoung([]retry.Ask{ask})
	for _, c := range all {
		if young.Wants(c.QueueID, c.Cores) {
			young.Add(c)
		}
	}
	var got []int64
	for _, c := range young.Among(ask, 2) {
		got = append(got, c.JobID)
	}
	if want := []int64{2, 3, 9, 8}; !slices.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
}

// Of very many attempts, in any order, the youngest are the candidates, and for each ask those that are old enough for it.
func TestAmongMany(t *testing.T) {
	asks := make([]retry.Ask, 2)
	for i := range asks {
		asks[i] = retry.Ask{Share: 9, Cores: 1, Queues: []shares.QueueID{1}, Back: shares.Ask{Terms: shares.Reclaim{MinRuntime: shares.Duration(i) * shares.Duration(time.Hour)}}}
	}
	young := retry.NewYoung(asks)
	for i := range 100_000 {
		young.Add(retry.Candidate{JobID: int64(i * 7919 % 100_000), Age: time.Duration(i*7919%100_000) * time.Second, Running: retry.Running{QueueID: 1, ShareID: 1, Cores: int64(1 + i%3)}})
	}
	for i, ask := range asks {
		some := young.Among(ask, retry.MostOrders)
		for k, c := range some {
			if want := int64(3600*i + k); c.JobID != want {
				t.Fatalf("of those that ran for %d hours candidate %d is job %d, want %d", i, k, c.JobID, want)
			}
		}
		if len(some) != retry.MostOrders {
			t.Errorf("%d candidates, want %d", len(some), retry.MostOrders)
		}
	}
}

func TestOwed(t *testing.T) {
	p := pool{held: []int{1, 1, 1, 1, 1}, asks: map[int]shares.Reclaim{1: {Scope: "leaf"}, 2: {Scope: "lca"}, 3: {By: "rank"}, 4: {Scope: "leaf"}}}
	given := map[retry.Claimer]shares.Units{}
	for share := range shares.ShareID(6) {
		given[retry.Claimer{Pool: "default", Share: share}] = unit
	}
	given[retry.Claimer{Pool: "default", Share: 4}] = -unit
	given[retry.Claimer{Pool: "gpu", Share: 3}] = 2 * unit
	want := map[retry.Claimer]shares.Units{{Pool: "default", Share: 1}: unit, {Pool: "default", Share: 3}: unit, {Pool: "gpu", Share: 3}: 2 * unit}
	if diff := gocmp.Diff(want, retry.Owed(p.tree(t), given)); diff != "" {
		t.Error(diff)
	}
}

// drawPool is any pool, with floors and rates that matter.
func drawPool(t *rapid.T) pool {
	p := pool{held: rapid.SliceOfN(rapid.IntRange(0, 12), 2, 5).Draw(t, "held"), asks: map[int]shares.Reclaim{}}
	for leaf := 1; leaf <= len(p.held); leaf++ {
		if rapid.Bool().Draw(t, "asks") {
			terms := shares.Reclaim{MinRuntime: shares.Duration(rapid.IntRange(0, 3).Draw(t, "minutes")) * shares.Duration(time.Minute),
				Scope: rapid.SampledFrom([]string{"", "leaf", "lca"}).Draw(t, "scope"), By: rapid.SampledFrom([]string{"", "rank"}).Draw(t, "by")}
			if rapid.Bool().Draw(t, "limited") {
				terms.Rate = shares.Rate{Jobs: rapid.IntRange(1, 4).Draw(t, "rate"), Per: shares.Duration(time.Minute)}
			}
			p.asks[leaf] = terms
		}
		if rapid.IntRange(0, 2).Draw(t, "has a floor") == 0 {
			p.floors = append(p.floors, retry.Floor{Queue: 1, Leaves: []int{leaf}, Spare: rapid.Int64Range(-1, 6).Draw(t, "spare")})
		}
	}
	return p
}

// The invariants of doc.go that are about reclaims: no job twice, none of the claimer's own, none below a floor, none beyond a
// rate; what was given is what was ordered; and when all orders are open, the same need orders nothing more.
func TestRoundsKeepTheirBounds(t *testing.T) {
	ordered := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		round := retry.NewRound([]*retry.Snapshot{p.snapshot(t)}, nil, nil)
		round.Rates()
		run(round, p.running())
		jobs, taken, byPlan, given := map[int64]bool{}, map[shares.ShareID]int64{}, map[shares.ShareID]int{}, map[retry.Claimer]shares.Units{}
		var open []retry.Open
		for _, o := range round.Orders {
			if jobs[o.JobID] || o.Claimer == o.ShareID {
				t.Fatalf("job %d twice, or for itself: %+v", o.JobID, round.Orders)
			}
			if o.Age < time.Duration(p.asks[int(o.Claimer)].MinRuntime) {
				t.Fatalf("too young: %+v", o)
			}
			jobs[o.JobID] = true
			taken[o.ShareID] += o.Cores
			byPlan[o.Plan]++
			given[retry.Claimer{Pool: "default", Share: o.Claimer}] += o.Units
			open = append(open, retry.Open{Pool: o.Pool, ClaimerID: o.Claimer, VictimID: o.ShareID, Units: o.Units, QueueID: o.QueueID, Cores: o.Cores})
		}
		for _, f := range p.floors {
			if n := taken[shares.ShareID(f.Leaves[0])]; n > max(0, f.Spare) {
				t.Fatalf("%d cores of leaf %d, whose floor spares %d", n, f.Leaves[0], f.Spare)
			}
		}
		for plan, n := range byPlan {
			if rate := p.asks[int(plan)].Rate; rate.Per > 0 && n > rate.Jobs {
				t.Fatalf("%d orders of plan %d, whose rate is %d", n, plan, rate.Jobs)
			}
		}
		if !gocmp.Equal(given, round.Given) {
			t.Fatalf("given %v, ordered %v", round.Given, given)
		}
		ordered += len(open)
		if len(open) == 0 || len(p.asks) > 1 || slices.ContainsFunc(round.Orders, func(o retry.Order) bool { return p.asks[int(o.Plan)].Rate.Per > 0 }) {
			return
		}
		left := slices.DeleteFunc(p.running(), func(c retry.Candidate) bool { return jobs[c.JobID] })
		if again := run(retry.NewRound([]*retry.Snapshot{p.snapshot(t)}, open, nil), left); len(again) != 0 {
			t.Fatalf("ordered again: %v beside %v", again, round.Orders)
		}
	})
	if ordered == 0 {
		t.Error("no round ordered anything")
	}
}
