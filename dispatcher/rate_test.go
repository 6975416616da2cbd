package dispatcher

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Starving is what the metric counts: not of a target below a unit, nor while nobody in the pool holds anything.
func TestRateOfStarving(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1), node("C", 1)}, slots("q", 10))
	hour := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
	for m := range 60 {
		for i, s := range []struct {
			share  string
			target float64
			held   int
		}{{"A", 8.5, 9}, {"B", 1, 0}, {"C", 0.5, 0}} {
			held := s.held
			if m >= 30 {
				held = 0
			}
			f.exec("INSERT INTO share_samples (at, pool, share_id, target, held, ready) VALUES ($1, 'default', $2, $3, $4, 5)",
				hour.Add(time.Duration(m)*time.Minute+time.Duration(i)*time.Microsecond), int32(f.shareID(s.share)), s.target, held*1000)
		}
	}
	if _, err := f.daemon().Rate(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.expectLines("starved", "SELECT concat_ws(' ', share, round(starved_seconds)) FROM report.share_fairness ORDER BY share", "A 0", "B 1800", "C 0")
	f.expectLines("of the pool", "SELECT starved_shares::text FROM report.fairness", "1")
}

// Integrals over samples, against the same in plain sums.
func TestRate(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	d := f.daemon()
	hour := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
	at := func(share string, minute float64, target float64, held, ready int) {
		f.exec("INSERT INTO share_samples (at, pool, share_id, target, held, ready) VALUES ($1, 'default', $2, $3, $4, $5)",
			hour.Add(time.Duration(minute*float64(time.Minute))), int32(f.shareID(share)), target, held*1000, ready)
	}
	for m := -1.0; m < 60; m++ {
		at("A", m, 6, 9, 5)
		at("B", m, 4, 1, 5)
	}
	at("A", 65, 6, 6, 0) // counts for ten minutes: there was nobody after it
	at("B", 65, 4, 0, 1)
	at("B", 70, 4, 0, 0)
	n, err := d.Rate(context.Background())
	if err != nil || n != 6 {
		t.Fatalf("%d rows, %v", n, err)
	}
	want := []string{
		"-1 A 60 360 540 0 0 60", "-1 B 60 240 60 180 0 60",
		"0 A 3600 21600 32400 0 0 3600", "0 B 3600 14400 3600 10800 0 3600",
		// The sample of minute 59 counts until 65, or for ten minutes.
		"1 A 900 5400 6300 0 0 900", "1 B 1200 4800 300 2100 300 600",
	}
	sql := fmt.Sprintf(`SELECT concat_ws(' ', extract(hour FROM hour - '%s'::timestamptz), share, round(seconds), round(target_unit_seconds), round(held_unit_seconds),
		round(missed_unit_seconds), round(starved_seconds), round(busy_seconds)) FROM report.share_fairness ORDER BY hour, share`, hour.Format(time.RFC3339))
	f.expectLines("shares", sql, want...)
	f.expectLines("pool", "SELECT concat_ws(' ', shares, jain, largest_deviation_units, furthest_share, missed_unit_seconds, starved_shares) FROM report.fairness ORDER BY hour",
		"2 0.6622 3 A 180 0", "2 0.6622 3 A 10800 0", "2 0.5534 3.75 B 2100 1")
	if n, err := d.Rate(context.Background()); n != 0 || err != nil {
		t.Errorf("again: %d rows, %v", n, err)
	}
	f.exec("UPDATE usage_state SET rated = NULL")
	if n, err := d.Rate(context.Background()); n != 6 || err != nil {
		t.Errorf("all over again: %d rows, %v", n, err)
	}
	f.expectLines("the same", sql, want...)
}
