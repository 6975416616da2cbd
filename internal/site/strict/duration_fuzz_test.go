package strict

import (
	"testing"
	"time"
)

// A time with days in front is never less than nothing, and means the same when it is written again.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"2d", "1d12h", "99999d", "99999d200000h", "1d-1h", "36h", "0", "+0", "-5m", "1d1d", "9223372036854775807ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if days.MatchString(s) && d < 0 {
			t.Errorf("%q is %s", s, d)
		}
		if again, err := time.ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q: %s, then %s, %v", s, d, again, err)
		}
	})
}
