package dispatcher

import (
	"math"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// W5: a share that could not run for ten hours gets some grants in a row beyond its turn, at most its own target; what
// it missed outlives the daemon.
func TestW5(t *testing.T) {
	for _, c := range []struct {
		half   time.Duration
		inARow int // grants to the share before the other one's turn
	}{{0, 10}, {time.Hour, 20}, {10 * time.Hour, 15}} {
		t.Run(c.half.String(), func(t *testing.T) {
			f := newFixture(t, []shares.Spec{
				planned("barred", func(p *shares.Plan) { p.HalfLife = shares.Duration(c.half) }), node("other", 1),
			}, slots("qa", 40), slots("qb", 10))
			clock := &testClock{}
			d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Now: clock.now})
			f.enqueue(batch{share: "barred", n: 40, need: job.Requirements{Queues: []string{"qa"}}})
			f.enqueue(batch{share: "other", n: 40})
			for range 10 {
				pull1(t, d, "qb") // no pilot comes to qa: the share is 5 short
			}
			step(t, d.Remember)
			clock.ahead = 10 * time.Hour
			if n := step(t, d.Remember); n == 0 {
				t.Fatal("nothing was written")
			}
			before := byPath(d, "default")["barred"]
			if lag := 5.5 * 36000.; math.Abs(before.Lag-lag) > lag/5 {
				t.Errorf("lag %v, want about %v", before.Lag, lag)
			}
			stop()
			d = f.still(clock)
			after := byPath(d, "default")["barred"]
			if math.Abs(after.Lag-before.Lag) > 500 || math.Abs(after.Remembered-before.Remembered) > before.Remembered/100 {
				t.Errorf("after a restart lag %v, remembered %v; before %v, %v", after.Lag, after.Remembered, before.Lag, before.Remembered)
			}
			n := 0
			for pull1(t, d, "qa").Share == "barred" {
				n++
			}
			if n < c.inARow-1 || n > c.inARow+2 {
				t.Errorf("%d grants in a row, want about %d", n, c.inARow)
			}
			if target := byPath(d, "default")["barred"].Target; float64(n-11) > target {
				t.Errorf("%d grants in a row beyond 11, its turn, more than its target %v", n, target)
			}
		})
	}
}

// The lag of all shares together is what the site left idle, and a row that does not change is not written.
func TestLagIsKept(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	clock := &testClock{}
	d := f.still(clock)
	f.enqueue(batch{share: "A", n: 20})
	for range 6 {
		pull1(t, d, "q")
	}
	f.enqueue(batch{share: "B", n: 20})
	eventually(t, "B wants its half", func() bool { return byPath(d, "default")["B"].Target == 3 })
	step(t, d.Remember)
	clock.ahead = time.Minute
	step(t, d.Remember)
	now := byPath(d, "default")
	if a, b := now["A"].Lag, now["B"].Lag; math.Abs(a+180) > 20 || math.Abs(a+b) > 1e-6 {
		t.Errorf("lag of A %v, of B %v; want about -180 and 180", a, b)
	}
	var rows int
	f.scan(&rows, "SELECT count(*) FROM share_memory WHERE lag <> 0 AND remembered = 0")
	if rows != 2 {
		t.Errorf("%d rows written, want 2", rows)
	}
}
