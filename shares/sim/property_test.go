package sim

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// drawSpecs draws a tree; caps adds max, and limits of lending and borrowing.
func drawSpecs(t *rapid.T, depth int, caps bool) []shares.Spec {
	specs := make([]shares.Spec, rapid.IntRange(1, 5).Draw(t, "children"))
	oneIn := func(n int) bool { return rapid.IntRange(1, n).Draw(t, "dice") == n }
	units := func(most int) shares.Units { return shares.Units(rapid.IntRange(0, most).Draw(t, "units")) * 1000 }
	for i := range specs {
		p := shares.DefaultPlan()
		p.Weight = float64(rapid.SampledFrom([]int{1, 1, 2, 5, 39, 0}).Draw(t, "weight"))
		if i == 0 {
			p.Weight = max(p.Weight, 1)
		}
		p.Tier = rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "tier")
		low := shares.Units(0)
		if oneIn(4) {
			low = units(8)
			p.Min = shares.Of(low)
		}
		if oneIn(4) {
			p.Owned = shares.Of(units(8))
		}
		if oneIn(6) {
			p.HalfLife = shares.Duration(time.Duration(rapid.IntRange(1, 60).Draw(t, "half_life")) * time.Second)
		}
		if caps && oneIn(3) {
			p.Max = shares.Of(low + units(8))
		}
		if caps && oneIn(4) {
			u := units(4)
			p.Lend.Any = &u
		}
		if caps && oneIn(4) {
			u := units(4)
			p.Borrow.Any = &u
		}
		specs[i] = shares.Spec{Name: fmt.Sprintf("s%d", i), Plan: p}
		if depth > 1 && oneIn(3) {
			specs[i].Children = drawSpecs(t, depth-1, caps)
		} else if oneIn(6) {
			specs[i].Plan.Aging = &shares.Aging{Per: shares.Duration(10 * time.Second), Points: 1}
		}
	}
	return specs
}

func drawWorkload(t *rapid.T, caps bool) (Config, []Job) {
	tree, err := shares.Build(drawSpecs(t, 3, caps))
	if err != nil {
		t.Fatalf("drawn tree: %v", err)
	}
	leaves := tree.Leaves()
	slots := rapid.IntRange(1, 24).Draw(t, "slots")
	jobs := make([]Job, rapid.IntRange(0, 80).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i] = Job{ID: int64(i), Leaf: rapid.SampledFrom(leaves).Draw(t, "leaf"),
			At:       time.Duration(rapid.IntRange(0, 60).Draw(t, "at")) * time.Second,
			Runtime:  time.Duration(rapid.IntRange(0, 90).Draw(t, "run")) * time.Second,
			Units:    shares.Units(rapid.SampledFrom([]int{1, 1, 1, 2, 8, 30}).Draw(t, "cores")) * 1000,
			Priority: rapid.IntRange(0, 1).Draw(t, "priority")}
	}
	return Config{Tree: tree, Capacity: shares.Units(slots) * 1000, Every: 10 * time.Second,
		Rule: rapid.SampledFrom(Rules).Draw(t, "rule"), Seed: rapid.Uint64Range(0, 3).Draw(t, "seed")}, jobs
}

// No job is lost and no unit is given twice, under any rule and any plan.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs := drawWorkload(t, rapid.Bool().Draw(t, "caps"))
		e := New(c)
		c.Rule = watch{c.Rule, func(seen *Engine) {
			e = seen
			if held := e.pool.Held(0); held < 0 || held > c.Capacity {
				t.Fatalf("%s of %s held", held, c.Capacity)
			}
		}}
		r, err := Run(c, jobs)
		if err != nil {
			t.Fatal(err)
		}
		root := r.Shares[0]
		if root.Started+root.Never+root.Stuck != len(jobs) || root.Stuck > 0 && !e.limited {
			t.Fatalf("%d jobs: %d started, %d never, %d stuck", len(jobs), root.Started, root.Never, root.Stuck)
		}
		want, got := 0.0, 0.0
		for _, j := range jobs {
			if j.Units <= (&run{Engine: e}).widest(j.Leaf) {
				want += j.Units.Float() * j.Runtime.Hours()
			}
		}
		for _, s := range r.Shares {
			if s.Leaf {
				got += s.Delivered
			}
			if !near(s.Target-s.Delivered, s.Short-s.Over) || !near(s.Lag/3600, s.Short-s.Over) {
				t.Errorf("%s: target %v, delivered %v, short %v, over %v", s.Path, s.Target, s.Delivered, s.Short, s.Over)
			}
		}
		if !near(got, root.Delivered) || root.Stuck == 0 && !near(got, want) {
			t.Errorf("%v slot-hours delivered, %v by the root, %v asked for", got, root.Delivered, want)
		}
		if r.Fairness.Refused != 0 {
			t.Errorf("refused %d times", r.Fairness.Refused)
		}
	})
}

func TestSameSeedSameResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs := drawWorkload(t, true)
		a, err := Run(c, jobs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Run(c, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%+v\n%+v", a, b)
		}
	})
}

// Divvy takes nobody over its target by a whole job, whatever weights, tiers, floors and owned units say.
func TestLessThanAJobOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs := drawWorkload(t, false)
		c.Rule = Divvy{}
		r, err := Run(c, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if r.Fairness.OverJobs >= 1+1e-9 {
			t.Errorf("a start took a share %v jobs over its target", r.Fairness.OverJobs)
		}
	})
}

// Whoever overtakes does not delay the job in turn: it starts at the moment that it was promised, or before.
func TestPromisesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs := drawWorkload(t, false)
		r := newRun(c)
		arrivals, _, err := r.admit(jobs, c.Seed)
		if err != nil {
			t.Fatal(err)
		}
		for len(arrivals) > 0 || len(r.ends.items) > 0 {
			if arrivals, err = r.step(arrivals); err != nil {
				t.Fatal(err)
			}
			if p := r.promised; p != nil && (r.now > p.at || p.spare < 0 || p.job.Units <= r.Free()) {
				t.Fatalf("%s: job %d waits for %s, promised for %s, %s to spare, %s free", r.now, p.job.ID, p.job.Units, p.at, p.spare, r.Free())
			}
		}
		if r.promised != nil {
			t.Fatalf("job %d was promised units and never got them", r.promised.job.ID)
		}
	})
}

func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := queue[int]{before: func(a, b *int) bool { return *a < *b }}
		in := map[int]int{}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			if len(q.items) > 0 && rapid.Bool().Draw(t, "pop") {
				least := *q.first()
				for _, v := range q.items {
					least = min(least, v)
				}
				got := q.pop()
				if got != least || in[got] == 0 {
					t.Fatalf("popped %d, least is %d", got, least)
				}
				in[got]--
				continue
			}
			v := rapid.IntRange(-5, 5).Draw(t, "v")
			q.push(v)
			in[v]++
		}
	})
}
