package wanted

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares/pilots"
)

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func provision(p pilots.Provision) *pilots.Provision {
	p = p.Filled()
	return &p
}

// slots8 is a queue with pilots of eight slots.
func slots8(most int) Queue {
	return Queue{Provision: provision(pilots.Provision{Max: most, Slots: 8}), Power: 1000, Slots: -1}
}

// kind is jobs of one core of share 0 at a place.
func kind(place int, jobs int64) Kind { return Kind{Place: place, Size: Size{Cores: 1}, Jobs: jobs} }

func wantedOf(in Input) (all []int) {
	if in.Leaves == nil {
		in.Leaves = []Leaf{{}}
	}
	for i, n := range Solve(in) {
		if p := in.Queues[i].Provision; p != nil {
			a, _ := n.Answer(p, Level{}, start)
			all = append(all, a.Wanted)
		} else {
			all = append(all, -1)
		}
	}
	return all
}

func TestWanted(t *testing.T) {
	busy := slots8(64)
	busy.HeldCores, busy.Held = 40, map[Size]int64{{Cores: 1}: 40}
	wide := slots8(64)
	wide.HeldCores, wide.Held = 12, map[Size]int64{{Cores: 3}: 4} // two pilots are full of them
	bounded := slots8(64)
	bounded.Slots = 20
	warm := Queue{Provision: provision(pilots.Provision{Min: 2, Max: 9, Burst: 5}), Power: 1000, Slots: -1}
	small := Queue{Provision: provision(pilots.Provision{Max: 9, Slots: 2, MemoryMB: 4000, WalltimeS: 3600}), Power: 1000, Slots: -1}
	foreign := Queue{Power: 1000, Slots: -1, Free: 10}
	for name, c := range map[string]struct {
		in   Input
		want []int
	}{
		"nothing":             {Input{Queues: []Queue{slots8(64)}}, []int{0}},
		"one job":             {Input{Queues: []Queue{slots8(64)}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 1)}}, []int{1}},
		"no more than max":    {Input{Queues: []Queue{slots8(7)}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 2000)}}, []int{7}},
		"slots of the queue":  {Input{Queues: []Queue{bounded}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 2000)}}, []int{3}},
		"what runs counts":    {Input{Queues: []Queue{busy}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 8)}}, []int{6}},
		"min":                 {Input{Queues: []Queue{warm}}, []int{2}},
		"burst":               {Input{Queues: []Queue{warm}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 100)}}, []int{5}},
		"wide jobs":           {Input{Queues: []Queue{wide}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 3}, Jobs: 4}}}, []int{4}},
		"too wide":            {Input{Queues: []Queue{slots8(64)}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 9}, Jobs: 4}}}, []int{0}},
		"too long":            {Input{Queues: []Queue{small}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 1, WalltimeS: 3600}, Jobs: 4}}}, []int{0}},
		"90 s to spare":       {Input{Queues: []Queue{small}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 1, WalltimeS: 3510}, Jobs: 4}}}, []int{2}},
		"89 s":                {Input{Queues: []Queue{small}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 1, WalltimeS: 3511}, Jobs: 4}}}, []int{0}},
		"memory":              {Input{Queues: []Queue{small}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 1, MemoryMB: 3000}, Jobs: 4}}}, []int{4}},
		"two queues":          {Input{Queues: []Queue{slots8(30), slots8(10)}, Places: [][]int{{0, 1}}, Kinds: []Kind{kind(0, 160)}}, []int{15, 5}},
		"few jobs, many":      {Input{Queues: []Queue{slots8(9), slots8(9), slots8(9)}, Places: [][]int{{0, 1, 2}}, Kinds: []Kind{kind(0, 8)}}, []int{0, 0, 1}},
		"narrow jobs first":   {Input{Queues: []Queue{slots8(10), slots8(10)}, Places: [][]int{{0, 1}, {0}}, Kinds: []Kind{kind(0, 80), kind(1, 80)}}, []int{10, 10}},
		"pilots that wait":    {Input{Queues: []Queue{slots8(10), foreign}, Places: [][]int{{0, 1}}, Kinds: []Kind{kind(0, 10)}}, []int{0, -1}},
		"beyond those":        {Input{Queues: []Queue{slots8(10), foreign}, Places: [][]int{{0, 1}}, Kinds: []Kind{kind(0, 18)}}, []int{1, -1}},
		"the share's target":  {Input{Queues: []Queue{slots8(10)}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 80)}, Leaves: []Leaf{{map[int]int64{0: 24_000}}}}, []int{3}},
		"units of a resource": {Input{Queues: []Queue{slots8(10)}, Places: [][]int{{0}}, Kinds: []Kind{{Size: Size{Cores: 1}, Jobs: 80, Units: []Units{{0, 2}}}}, Supplies: []int64{17}}, []int{1}},
	} {
		if got := wantedOf(c.in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}

func TestAnswerIsExplained(t *testing.T) {
	q := slots8(64)
	q.HeldCores, q.Held, q.Free = 40, map[Size]int64{{Cores: 1}: 40}, 8
	q.Provision.Burst = 4
	n := Solve(Input{Queues: []Queue{q}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, 100)}, Leaves: []Leaf{{map[int]int64{0: 60_000}}}})[0]
	a, _ := n.Answer(q.Provision, Level{}, start)
	var words []string
	for _, term := range a.Terms {
		words = append(words, fmt.Sprintf("%+g %s", term.Pilots, term.What))
	}
	const want = "+5 jobs that run, +12.5 ready and coming jobs that fit its pilots, -5 kept back by targets of shares or by resources, " +
		"+0.5 rounded up to whole pilots, -3 burst: at most 4 that are not there yet"
	if got := strings.Join(words, ", "); got != want {
		t.Errorf("%s\nexpected\n%s", got, want)
	}
	if a.Wanted != 10 || a.Alive != 6 || a.Jobs != 60 {
		t.Errorf("%+v", a)
	}
	if want := "10 pilots: what runs needs 5 and 60 ready or coming jobs need 7.5 more; of 13, burst lets only these be asked for at once."; a.Reason != want {
		t.Errorf("%s", a.Reason)
	}
}

func TestLevelFallsAfterIdle(t *testing.T) {
	l, idle := Level{}, time.Minute
	for i, c := range []struct {
		at   time.Duration
		need int
		keep int
	}{{0, 10, 10}, {time.Second, 12, 12}, {2 * time.Second, 3, 12}, {30 * time.Second, 5, 12}, {62 * time.Second, 1, 5}, {63 * time.Second, 2, 5},
		{122 * time.Second, 1, 2}, {182 * time.Second, 1, 1}, {183 * time.Second, 7, 7}} {
		if l = l.Next(c.need, start.Add(c.at), idle); l.keep != c.keep {
			t.Errorf("step %d: %d, expected %d", i, l.keep, c.keep)
		}
	}
}

// drawn is any site with any demand.
func drawn(t *rapid.T) (in Input) {
	n := rapid.IntRange(1, 6).Draw(t, "queues")
	for range n {
		q := Queue{Pool: rapid.IntRange(0, 1).Draw(t, "pool"), Power: rapid.SampledFrom([]int64{500, 1000, 10_200}).Draw(t, "power"), Slots: -1,
			Held: map[Size]int64{}, Free: rapid.Int64Range(0, 20).Draw(t, "free")}
		if rapid.Bool().Draw(t, "provisioned") {
			p := pilots.Provision{Max: rapid.IntRange(1, 100).Draw(t, "max"), Slots: rapid.IntRange(1, 9).Draw(t, "slots"), Burst: rapid.IntRange(1, 200).Draw(t, "burst")}
			p.Min = rapid.IntRange(0, p.Max).Draw(t, "min")
			p.Cores = rapid.IntRange(1, 16).Draw(t, "cores")
			q.Provision = provision(p)
		}
		if rapid.Bool().Draw(t, "bounded") {
			q.Slots = rapid.Int64Range(0, 300).Draw(t, "cores of it")
		}
		if jobs := rapid.Int64Range(0, 40).Draw(t, "held"); jobs > 0 {
			q.Held[Size{Cores: 1}], q.HeldCores = jobs, jobs
		}
		in.Queues = append(in.Queues, q)
	}
	for range rapid.IntRange(1, 4).Draw(t, "places") {
		var at []int
		for i := range n {
			if rapid.Bool().Draw(t, "there") {
				at = append(at, i)
			}
		}
		in.Places = append(in.Places, at)
	}
	for range rapid.IntRange(1, 3).Draw(t, "leaves") {
		l := Leaf{map[int]int64{}}
		for pool := range 2 {
			if rapid.Bool().Draw(t, "has target") {
				l.Budget[pool] = rapid.Int64Range(-1000, 500_000).Draw(t, "target")
			}
		}
		in.Leaves = append(in.Leaves, l)
	}
	for range rapid.IntRange(0, 6).Draw(t, "kinds") {
		in.Kinds = append(in.Kinds, Kind{Leaf: rapid.IntRange(0, len(in.Leaves)-1).Draw(t, "leaf"), Place: rapid.IntRange(0, len(in.Places)-1).Draw(t, "place"),
			Size: Size{Cores: rapid.IntRange(1, 4).Draw(t, "width")}, Jobs: rapid.Int64Range(0, 5000).Draw(t, "jobs")})
	}
	return in
}

func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t)
		var jobs, split int64
		for _, k := range in.Kinds {
			jobs += k.Jobs
		}
		for i, n := range Solve(in) {
			split += n.Jobs
			if n.Split < 0 || n.Split > n.Allowed || n.Allowed > n.Fits {
				t.Fatalf("queue %d: split %d, allowed %d, fits %d", i, n.Split, n.Allowed, n.Fits)
			}
			p := in.Queues[i].Provision
			if p == nil {
				continue
			}
			a, l := n.Answer(p, Level{}, start)
			sum := 0.0
			for _, term := range a.Terms {
				sum += term.Pilots
			}
			if math.Abs(sum-float64(a.Wanted)) > 1e-6 {
				t.Fatalf("queue %d: the terms are %v, together %g", i, a.Terms, sum)
			}
			if a.Wanted > max(p.Max, 0) || a.Wanted < min(p.Min, a.Alive+p.Burst) || a.Keep < min(a.Wanted, p.Max) {
				t.Fatalf("queue %d: %+v of %+v", i, a, p)
			}
			if again, _ := n.Answer(p, l, start.Add(time.Second)); again.Wanted != a.Wanted || again.Keep != a.Keep {
				t.Fatalf("queue %d: nothing changed, but %+v became %+v", i, a, again)
			}
		}
		if split > jobs {
			t.Fatalf("%d jobs are asked for %d times", jobs, split)
		}
	})
}

// More jobs of a kind never make the jobs that find room fewer, and order of the input is of no account.
func TestMoreDemandAsksForMore(t *testing.T) {
	total := func(in Input) (n int64) {
		for _, need := range Solve(in) {
			n += need.Jobs
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		in := drawn(t)
		for i := range in.Kinds {
			in.Kinds[i].Size.Cores = 1
		}
		for i := range in.Queues {
			if p := in.Queues[i].Provision; p != nil {
				p.Cores = p.Slots
			}
		}
		for i := range in.Leaves {
			in.Leaves[i].Budget = nil
		}
		if len(in.Kinds) == 0 {
			return
		}
		was, needs := total(in), Solve(in)
		backwards := in
		backwards.Kinds = nil
		for i := range in.Kinds {
			backwards.Kinds = append(backwards.Kinds, in.Kinds[len(in.Kinds)-1-i])
		}
		if got := Solve(backwards); !reflect.DeepEqual(got, needs) {
			t.Fatalf("%v, and backwards %v", needs, got)
		}
		in.Kinds[rapid.IntRange(0, len(in.Kinds)-1).Draw(t, "which")].Jobs += rapid.Int64Range(1, 1000).Draw(t, "more")
		if now := total(in); now < was {
			t.Fatalf("%d jobs found room, and of more jobs %d", was, now)
		}
	})
}
