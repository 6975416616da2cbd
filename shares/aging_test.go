package shares

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPlace(t *testing.T) {
	hour := &Aging{Per: Duration(time.Hour), Points: 10}
	bound := &Aging{Per: Duration(time.Hour), Points: 10, Max: 500}
	for _, c := range []struct {
		name         string
		aging        *Aging
		first        int           // priority of a job that has waited
		waited       time.Duration // longer than
		second       int           // another of this priority
		passes, same bool
	}{
		{"without aging only priority counts", nil, 1, 1000 * time.Hour, 2, false, false},
		{"without aging waiting is for the id", nil, 2, time.Hour, 2, false, true},
		{"10 points an hour: not yet", hour, 0, 59 * time.Minute, 10, false, false},
		{"10 points an hour: just now", hour, 0, time.Hour, 10, false, true},
		{"10 points an hour: passed", hour, 0, 61 * time.Minute, 10, true, false},
		{"without a bound any priority is passed", hour, 0, 1001 * time.Hour, 10_000, true, false},
		{"within the bound", bound, 0, 50 * time.Hour, 499, true, false},
		{"the bound is not passed in years", bound, 0, 100_000 * time.Hour, 500, false, false},
		{"below 0 too", bound, -501, 100_000 * time.Hour, -1, false, false},
		{"below 0 within the bound", bound, -400, 50 * time.Hour, -1, true, false},
	} {
		a, b := c.aging.Place(c.first, noon), c.aging.Place(c.second, noon.Add(c.waited))
		if c.passes != (a < b) || c.same != (a == b) {
			t.Errorf("%s: %d and %d", c.name, a, b)
		}
	}
}

// TestPlacesAreOrdered: more priority never comes later at the same age, more age never at the same priority, and no
// job passes one that is Max points above it.
func TestPlacesAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &Aging{Per: Duration(rapid.Int64Range(int64(time.Second), int64(1000*time.Hour)).Draw(t, "per")),
			Points: rapid.IntRange(1, 1000).Draw(t, "points"), Max: rapid.IntRange(0, 1000).Draw(t, "max")}
		priority := rapid.IntRange(-100_000, 100_000).Draw(t, "priority")
		since := noon.Add(time.Duration(rapid.Int64Range(0, int64(10*365*24*time.Hour)).Draw(t, "since")))
		later := since.Add(time.Duration(rapid.Int64Range(0, int64(10*365*24*time.Hour)).Draw(t, "later")))
		place := a.Place(priority, since)
		if a.Place(priority, later) < place {
			t.Fatal("a younger job goes first")
		}
		if a.Place(priority+rapid.IntRange(0, 2000).Draw(t, "above"), since) > place {
			t.Fatal("a higher priority goes last")
		}
		if a.Max > 0 && abs(priority)/a.Max < mostBands-1 && a.Place(priority+a.Max, later) >= place {
			t.Fatal("a job passes one that is Max above it")
		}
		if place <= -1<<62 || place >= 1<<62 {
			t.Fatalf("place %d is out of range", place)
		}
	})
}

func abs(i int) int { return max(i, -i) }
