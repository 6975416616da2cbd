package pilot

import (
	"math/rand/v2"
	"time"
)

// backoff spaces the repeats of one call.
type backoff struct {
	at    time.Time // not before
	tries int       // failures in a row
	told  bool      // the server named the pause
}

// fail sets the next try: after what the server asked for and a little more, else after a pause that doubles,
// half of it jitter.
func (b *backoff) fail(now time.Time, asked time.Duration, t timing) {
	b.told = asked > 0
	if b.told {
		b.at = now.Add(asked + rand.N(asked/4+1))
	} else {
		pause := min(t.MaxPause, t.Pause<<min(b.tries, 20))
		b.at = now.Add(pause/2 + rand.N(pause/2+1))
	}
	b.tries++
}

// hurry ends a pause that only guessed when the server would be back.
func (b *backoff) hurry(now time.Time) {
	if b.tries > 0 && !b.told && b.at.After(now) {
		b.at = now
	}
}
