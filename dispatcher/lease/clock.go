package lease

import "time"

// clock is the monotonic clock, and counts the time in which the machine slept, too: a leader that slept must know that others may lead by now. A time of day
// that is set forward counts like a sleep, which is safe.
type clock struct {
	last time.Time
	now  time.Duration
}

// asleep is by how much more the time of day must have gone on than the monotonic clock: slewing and rounding are less.
const asleep = 100 * time.Millisecond

func newClock() *clock { return &clock{last: time.Now()} }

func (c *clock) read() time.Duration {
	t := time.Now()
	c.now += passed(t.Sub(c.last), t.Round(0).Sub(c.last.Round(0)))
	c.last = t
	return c.now
}

// passed is the time that passed when the monotonic clock and the time of day went on by so much.
func passed(monotonic, day time.Duration) time.Duration {
	if day-monotonic > asleep {
		return day
	}
	return monotonic
}
