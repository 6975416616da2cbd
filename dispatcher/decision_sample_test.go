package dispatcher

import (
	"math"
	"testing"
	"time"
)

// second makes n decisions and says how many were recorded, for how many they stand, and the part of every other one.
func (m *sampler) second(now *time.Time, n int) (records, stands int, odd float64) {
	odds := 0
	for i := range n {
		if w := m.next(); w > 0 {
			records++
			stands += w
			odds += i % 2
		}
	}
	*now = now.Add(time.Second)
	m.begin(*now)
	return records, stands, float64(odds) / float64(max(records, 1))
}

func TestSampleTakesAllOfAThousand(t *testing.T) {
	var m sampler
	now := time.Now()
	m.begin(now)
	for _, n := range []int{1, 1000, 1000, 0, 999, 1000} {
		if records, stands, _ := m.second(&now, n); records != n || stands != n {
			t.Errorf("%d records for %d of %d decisions", records, stands, n)
		}
	}
}

func TestSampleIsBoundedAndUniform(t *testing.T) {
	var m sampler
	now := time.Now()
	m.begin(now)
	all, stood, odds := 0, 0, 0.0
	const seconds, rate = 20, 50_000
	for s := range seconds {
		records, stands, odd := m.second(&now, rate)
		if s == 0 && records > 3*decisionsPerSecond || s > 0 && (records > decisionsPerSecond*21/20 || records < decisionsPerSecond/2) {
			t.Errorf("second %d: %d records", s, records)
		}
		all, stood, odds = all+rate, stood+stands, odds+odd/seconds
	}
	// Each second ends within a block.
	if math.Abs(float64(stood-all)) > seconds*rate/decisionsPerSecond {
		t.Errorf("the weights add up to %d, decisions were %d", stood, all)
	}
	if odds < 0.4 || odds > 0.6 { // 20,000 coins: 0.5 ± 0.004
		t.Errorf("%.0f %% of every second decision", 100*odds)
	}
	m.second(&now, 800) // still as of the second before
	if records, stands, _ := m.second(&now, 800); records != 800 || stands != 800 {
		t.Errorf("%d records for %d of 800 decisions when it is quiet again", records, stands)
	}
}
