package shares

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares/when"
)

// What people write as a time, a rate, an amount or a weekly span is refused with what they wrote, or means the same when it
// is written again.
func FuzzWritten(f *testing.F) {
	for _, s := range []string{"90s", "7d", "36500d", "36501d", "-1h", "0", "1h30m", "10/1m", " 3 / 7d ", "-1/1s", "2.5", "0.001", "1e300", "NaN", "+Inf", "4398046511.104", "1e-9",
		"Mon-Fri 08:00-18:00 Europe/Zurich", "Fri 22:00-06:00", "Sat,Sun", "00:00-24:00", "24:00-01:00", "UTC", "Local", "../etc/passwd", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if again, err := ParseDuration(d.String()); err != nil || again != d {
				t.Errorf("duration %q: %s, then %s, %v", s, d, again, err)
			}
		} else if err.Error() == "" {
			t.Error("an error without words")
		}
		var r, sameRate Rate
		if r.UnmarshalText([]byte(s)) == nil {
			if text, _ := r.MarshalText(); len(text) > 0 {
				if err := sameRate.UnmarshalText(text); err != nil || sameRate != r {
					t.Errorf("rate %q: %s, then %s, %v", s, r, sameRate, err)
				}
			}
		}
		if w, err := when.Parse(s); err == nil {
			// A span that was accepted holds sometime in a week, hour by quarter of an hour, and not always unless all is.
			at, holds := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), 0
			for range 7 * 24 * 60 {
				if w.Contains(at) {
					holds++
				}
				at = at.Add(time.Minute)
			}
			if holds == 0 {
				t.Errorf("%q never holds", s)
			}
		}
	})
}
