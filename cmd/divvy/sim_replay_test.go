package main

import (
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"24h": now.Add(-24 * time.Hour), "7d": now.Add(-7 * 24 * time.Hour), "0s": now,
		"2026-03-01T00:00:00Z": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := parseMoment("since", in, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "yesterday", "-3h", "2026-03-01"} {
		if at, err := parseMoment("since", in, now); err == nil {
			t.Errorf("%q is taken for %v", in, at)
		}
	}
}
