package dispatcher

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Jain's index, the largest deviation and who starves, by hand.
func TestFairness(t *testing.T) {
	at := time.Unix(1000, 0)
	leaf := func(id shares.ShareID, target, held float64, ready int64) ShareStanding {
		return ShareStanding{Place: Place{ID: id, Leaf: true}, Target: target, Held: held, Deficit: target - held, Ready: ready}
	}
	for name, c := range map[string]struct {
		shares []ShareStanding
		held   float64
		want   fairness
	}{
		"nobody wants anything": {[]ShareStanding{leaf(1, 5, 0, 0)}, 0, fairness{jain: 1}},
		"as it should be":       {[]ShareStanding{leaf(1, 6, 6, 9), leaf(2, 2, 2, 0)}, 8, fairness{jain: 1}},
		"one has all":           {[]ShareStanding{leaf(1, 5, 10, 9), leaf(2, 5, 0, 3)}, 10, fairness{jain: 0.5, deviation: 5, starving: 1}},
		"one has half":          {[]ShareStanding{leaf(1, 4, 4, 9), leaf(2, 4, 2, 3)}, 6, fairness{jain: 0.9, deviation: 2}},
		"nobody holds anything": {[]ShareStanding{leaf(1, 5, 0, 9), leaf(2, 5, 0, 3)}, 0, fairness{jain: 1, deviation: 5}},
		"less than a unit":      {[]ShareStanding{leaf(1, 0.5, 0, 9), leaf(2, 5, 5, 3)}, 5, fairness{jain: 0.5, deviation: 0.5}},
		"no leaf":               {[]ShareStanding{{Place: Place{ID: 3}, Target: 5, Deficit: 5, Ready: 7}}, 5, fairness{jain: 1}},
	} {
		d := &Dispatcher{}
		got := d.fairnessOf(&PoolStanding{Pool: "p", Held: c.held, Shares: c.shares}, at, starved{})
		if math.Abs(got.jain-c.want.jain) > 1e-9 || got.deviation != c.want.deviation || got.starving != c.want.starving || got.longest != 0 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Starvation lasts from the first look that sees it to the first that does not.
func TestStarvationLasts(t *testing.T) {
	d := &Dispatcher{}
	look := func(second int64, held float64) time.Duration {
		next := starved{}
		f := d.fairnessOf(&PoolStanding{Pool: "p", Held: 5, Shares: []ShareStanding{{Place: Place{ID: 1, Leaf: true}, Target: 5, Held: held, Deficit: 5 - held, Ready: 3}}},
			time.Unix(second, 0), next)
		d.starved = next
		return f.longest
	}
	for i, c := range []struct {
		second int64
		held   float64
		want   time.Duration
	}{{0, 0, 0}, {5, 0, 5 * time.Second}, {65, 0, 65 * time.Second}, {70, 1, 0}, {75, 0, 0}, {80, 0, 5 * time.Second}} {
		if got := look(c.second, c.held); got != c.want {
			t.Errorf("look %d: %s, want %s", i, got, c.want)
		}
	}
}

// A survey counts what there is.
func TestSurvey(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("a", 1), node("b", 1)}, slots("q", 4), slots("r", 2))
	d := f.daemon()
	f.enqueue(batch{share: "a", n: 3})
	takeAll(t, d, "q")
	f.enqueue(batch{share: "b", n: 5})
	eventually(t, "five are ready, three run", func() bool {
		if n, err := d.Survey(t.Context()); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		s := d.survey.Load()
		return s.ready == 5 && s.held == 3
	})
	s := d.survey.Load()
	if s.gaps != 0 || len(s.queues) != 2 || len(s.shares) != 2 || s.version != f.version.Number || s.daemons != 1 {
		t.Errorf("%+v", s)
	}
}

// A gap is a queue without a ready job of a share that has some to come.
func TestStockGaps(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("a", 1), node("b", 1)}, slots("q", 4), slots("r", 2))
	f.enqueue(batch{share: "a", n: 3})
	f.enqueue(batch{share: "b", n: 5})
	d := f.open() // nothing changes its counts but this test
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	gaps := func() int {
		s := &survey{}
		d.surveyStock(s)
		return s.gaps
	}
	if n := gaps(); n != 0 || len(d.state.windows) != 2 {
		t.Fatalf("%d gaps, %d kinds of jobs", n, len(d.state.windows))
	}
	for _, w := range d.state.windows {
		w.backlog = 10
	}
	if n := gaps(); n != 0 {
		t.Errorf("%d gaps where jobs are ready", n)
	}
	for _, w := range d.state.windows {
		w.ready = 0
	}
	if n := gaps(); n != 4 {
		t.Errorf("%d gaps, want two shares at two queues", n)
	}
	d.state.version.Queues[1].State = shares.Offline
	if n := gaps(); n != 2 {
		t.Errorf("%d gaps, want none at a queue that is offline", n)
	}
}

// What is too much is left out, and that is said.
func TestSurveyIsBounded(t *testing.T) {
	s := &survey{leftOut: map[string]int{}, shares: make([]ShareStanding, mostShareMetrics+7), queues: make([]QueueStanding, 3),
		cells: make([]shareCell, mostCellMetrics+1)}
	s.bound()
	if len(s.shares) != mostShareMetrics || s.leftOut["shares"] != 7 || len(s.queues) != 3 || s.leftOut["queues"] != 0 || s.leftOut["share_queues"] != 1 {
		t.Errorf("%d %d %v", len(s.shares), len(s.queues), s.leftOut)
	}
}

// What a look costs with a thousand shares and a thousand queues.
func BenchmarkSurvey(b *testing.B) {
	var all []shares.Spec
	for i := range 1000 {
		all = append(all, node(fmt.Sprintf("s%d", i), 1))
	}
	var queues []shares.Queue
	for i := range 1000 {
		queues = append(queues, slots(fmt.Sprintf("q%d", i), 100))
	}
	f := newFixture(b, all, queues...)
	for i := range 1000 {
		f.enqueue(batch{share: fmt.Sprintf("s%d", i), n: 2})
	}
	d := f.open()
	b.Cleanup(func() { _ = d.Close(context.Background()) })
	for b.Loop() {
		if n, err := d.Survey(context.Background()); err != nil || n < 1000 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(len(d.survey.Load().queues)), "queues")
}
