package pilot

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		var b backoff
		for range rapid.IntRange(1, 100).Draw(t, "tries") {
			asked := time.Duration(rapid.Int64Range(0, 100).Draw(t, "asked")) * time.Second
			b.fail(now, asked, usualTiming)
			if pause := b.at.Sub(now); pause < asked || pause <= 0 || asked == 0 && pause > usualTiming.MaxPause {
				t.Fatalf("a pause of %s, asked for %s", pause, asked)
			}
			before := b.at
			b.hurry(now)
			if asked > 0 && b.at != before || asked == 0 && b.at.After(now) {
				t.Fatal("hurry must end guesses only")
			}
		}
	})
}
