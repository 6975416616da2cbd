package shares

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFade(t *testing.T) {
	for _, c := range []struct {
		lag, deficit, want float64
		half, dt           time.Duration
	}{
		{1000, 0, 500, time.Hour, time.Hour},
		{0, 1000, 1000, time.Hour, time.Second}, // little time: deficit·dt
		{0, 1000, 1000 * 3600 / math.Ln2, time.Hour, 100 * time.Hour},
		{1000, 7, 1000, time.Hour, 0},
	} {
		if got := Fade(c.lag, c.deficit, c.half, c.dt); math.Abs(got-c.want) > 1e-3*math.Abs(c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	once := Fade(300, 20, time.Hour, 2*time.Hour)
	if twice := Fade(Fade(300, 20, time.Hour, time.Hour), 20, time.Hour, time.Hour); math.Abs(once-twice) > 1e-6 {
		t.Errorf("in one step %v, in two %v", once, twice)
	}
}

// TestShiftsAddUpToNothing: memory moves units between siblings, within clamp, demand, min and owned.
func TestShiftsAddUpToNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, anyPlan)
		for i := range tree.Nodes[1:] {
			plan := &tree.Nodes[i+1].Plan
			if rapid.Bool().Draw(t, "remembers") {
				plan.HalfLife = Duration(24 * time.Hour)
				if rapid.Bool().Draw(t, "clamped") {
					plan.Clamp = Of(Units(rapid.Int64Range(0, 30).Draw(t, "clamp")) * 1000)
				}
			}
		}
		p := NewPool(tree, "default")
		if p.memory == nil {
			t.Skip("nobody remembers")
		}
		drawStanding(t, p)
		for i := range tree.Nodes[1:] {
			p.SetLag(i+1, rapid.Float64Range(-1e10, 1e10).Draw(t, "lag"))
		}
		r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		p.root(r)
		f := &p.families[rapid.IntRange(0, len(p.families)-1).Draw(t, "family")]
		part := float64(rapid.Int64Range(0, 100_000).Draw(t, "part"))
		p.split(f, part)
		before := append([]float64(nil), p.got[f.lo:f.hi]...)
		p.fill(f, part)
		sum := 0.0
		for k, was := range before {
			c := f.lo + int32(k)
			now, plan := p.got[c], &tree.Nodes[p.nodeOf[c]].Plan
			sum += now - was
			most := math.Inf(1)
			if plan.HalfLife > 0 {
				most = was
				if u, ok := plan.Clamp.In("default"); ok {
					most = float64(u)
				}
			}
			d := float64(p.demand[c])
			guaranteed := min(d, p.owned[c])
			if p.limits != nil {
				guaranteed = p.limits.use[c] + p.limits.asks[c]
			} else if p.floors != nil {
				guaranteed += float64(p.floors.asks[c])
			}
			if least, _ := plan.Min.In("default"); guaranteed < min(d, float64(least)) {
				t.Fatalf("%q is guaranteed %v, less than its min %v", tree.Nodes[p.nodeOf[c]].Path, guaranteed, least)
			}
			if math.Abs(now-was) > most+Tolerance || now > max(d, was)+Tolerance || now < min(was, guaranteed)-Tolerance {
				t.Fatalf("%q went from %v to %v; clamp %v, demand %v, guaranteed %v", tree.Nodes[p.nodeOf[c]].Path, was, now, most, d, guaranteed)
			}
		}
		if math.Abs(sum) > Tolerance {
			t.Fatalf("shifts sum up to %v", sum)
		}
	})
}
