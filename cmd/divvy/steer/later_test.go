package steer

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"+90m":                      time.Date(2026, 3, 1, 13, 30, 0, 0, time.UTC),
		"+7d":                       time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC),
		"2026-03-01T08:00:00+01:00": time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC),
		"2026-03-01 08:00":          time.Date(2026, 3, 1, 8, 0, 0, 0, time.Local),
		"2026-03-01 08:00:30":       time.Date(2026, 3, 1, 8, 0, 30, 0, time.Local),
	} {
		if got, err := parseTime("--at", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, want %v; %v", text, got, want, err)
		}
	}
	for _, text := range []string{"+", "+2", "+-2h", "2h", "08:00", "Mon 08:00", "2026-03-01", "tomorrow"} {
		if got, err := parseTime("--at", text, now); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}
