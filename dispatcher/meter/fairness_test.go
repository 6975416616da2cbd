package meter

import (
	"math"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/shares"
)

func leaf(id shares.ShareID, target, held float64, ready int64) explain.ShareStanding {
	return explain.ShareStanding{Place: explain.Place{ID: id, Leaf: true}, Target: target, Held: held, Deficit: target - held, Ready: ready}
}

// Jain's index, the largest deviation and who starves, by hand.
func TestFairness(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shares []explain.ShareStanding
		held   float64
		want   fairness
	}{
		"nobody wants anything": {[]explain.ShareStanding{leaf(1, 5, 0, 0)}, 0, fairness{jain: 1}},
		"as it should be":       {[]explain.ShareStanding{leaf(1, 6, 6, 9), leaf(2, 2, 2, 0)}, 8, fairness{jain: 1}},
		"one has all":           {[]explain.ShareStanding{leaf(1, 5, 10, 9), leaf(2, 5, 0, 3)}, 10, fairness{jain: 0.5, deviation: 5, starving: 1}},
		"one has half":          {[]explain.ShareStanding{leaf(1, 4, 4, 9), leaf(2, 4, 2, 3)}, 6, fairness{jain: 0.9, deviation: 2}},
		"nobody holds anything": {[]explain.ShareStanding{leaf(1, 5, 0, 9), leaf(2, 5, 0, 3)}, 0, fairness{jain: 1, deviation: 5}},
		"less than a unit":      {[]explain.ShareStanding{leaf(1, 0.5, 0, 9), leaf(2, 5, 5, 3)}, 5, fairness{jain: 0.5, deviation: 0.5}},
		"no leaf":               {[]explain.ShareStanding{{Place: explain.Place{ID: 3}, Target: 5, Deficit: 5, Ready: 7}}, 5, fairness{jain: 1}},
	} {
		got := fairnessOf(&explain.PoolStanding{Pool: "p", Held: c.held, Shares: c.shares}, start, starved{}, starved{})
		if math.Abs(got.jain-c.want.jain) > 1e-9 || got.deviation != c.want.deviation || got.starving != c.want.starving || got.longest != 0 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Starvation lasts from the first look that sees it to the first that does not.
func TestStarvationLasts(t *testing.T) {
	t.Parallel()
	m := New(NoShares)
	tree, err := shares.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		second int64
		held   float64
		want   string
	}{{0, 0, "0"}, {5, 0, "5"}, {65, 0, "65"}, {70, 1, "0"}, {75, 0, "0"}, {80, 0, "5"}} {
		m.Show(Snapshot{Site: shares.Version{Number: 1, Tree: tree}, At: time.Unix(c.second, 0),
			Pools: []explain.PoolStanding{{Pool: "p", Held: 5, Shares: []explain.ShareStanding{leaf(1, 5, c.held, 3)}}}})
		if got := m.told(t, "share_starvation_seconds"); len(got) != 1 || got[0] != "share_starvation_seconds p = "+c.want {
			t.Errorf("look %d: %v, want %s", i, got, c.want)
		}
	}
}
