package retry

import (
	"maps"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// Tally is how many attempts ended, and how many of these failed or were lost.
type Tally struct{ Ends, Fails int }

func (t Tally) plus(o Tally) Tally { return Tally{t.Ends + o.Ends, t.Fails + o.Fails} }

// good is how many finished.
func (t Tally) good() int { return t.Ends - t.Fails }

// Counts is how attempts ended at queues, by shape: in the present half of a window, and in the half before. The zero Counts is
// ready to use. It is for one goroutine at a time.
type Counts struct {
	now, before map[place]Tally
	turned      time.Time
	watch       map[shares.QueueID]Tally // of holes: since the last call of Probed
}

// place is jobs of a shape at a queue.
type place struct {
	queue shares.QueueID
	shape int32
}

// Add counts the end of an attempt at a queue. One that was called off says nothing.
func (c *Counts) Add(queue shares.QueueID, shape int32, said entry.Outcome) {
	one := Tally{Ends: 1}
	switch said {
	case entry.Finished:
	case entry.Failed, entry.Lost:
		one.Fails = 1
	default:
		return
	}
	if had, is := c.watch[queue]; is {
		c.watch[queue] = had.plus(one)
	}
	if c.now == nil {
		c.now = map[place]Tally{}
	}
	at := place{queue, shape}
	c.now[at] = c.now[at].plus(one)
}

// Turn forgets what is older than a window.
func (c *Counts) Turn(now time.Time, window time.Duration) {
	switch since := now.Sub(c.turned); {
	case c.turned.IsZero(): // it has just begun to count
		c.turned = now
		return
	case since < window/2:
		return
	case since < window:
		c.before = c.now
	default:
		c.before = nil
	}
	c.now, c.turned = nil, now
}

// sums are the counts of both halves.
func (c *Counts) sums() (byQueue map[shares.QueueID]Tally, all map[place]Tally) {
	byQueue, all = map[shares.QueueID]Tally{}, map[place]Tally{}
	for _, half := range []map[place]Tally{c.before, c.now} {
		for at, t := range half {
			byQueue[at.queue], all[at] = byQueue[at.queue].plus(t), all[at].plus(t)
		}
	}
	return byQueue, all
}

// enoughElsewhere is how many attempts must have finished at other queues before one is blamed.
const enoughElsewhere = 5

// Found returns the queues that fail nearly all that they get, while at least half of the attempts of the same shapes finish at
// other queues. Where these run nowhere else, or fail there too, the jobs may be at fault. Known queues are not found again.
func (c *Counts) Found(b policy.BlackHole, known map[shares.QueueID]bool) map[shares.QueueID]Tally {
	out, suspects := map[shares.QueueID]Tally{}, map[shares.QueueID]bool{}
	byQueue, all := c.sums()
	for id, t := range byQueue {
		suspects[id] = !known[id] && t.Ends >= b.Sample && float64(t.Fails) >= b.Fails*float64(t.Ends)
	}
	for id, t := range byQueue {
		if !suspects[id] {
			continue
		}
		var elsewhere Tally
		for at, t := range all {
			if _, here := all[place{id, at.shape}]; here && !suspects[at.queue] && !known[at.queue] {
				elsewhere = elsewhere.plus(t)
			}
		}
		if elsewhere.good() >= enoughElsewhere && elsewhere.good() >= elsewhere.Fails {
			out[id] = t
		}
	}
	return out
}

// Probed returns what ended at holes since the last call, and watches those that are known now.
func (c *Counts) Probed(known map[shares.QueueID]bool) map[shares.QueueID]Tally {
	probed := c.watch
	c.watch = make(map[shares.QueueID]Tally, len(known))
	for id := range known {
		c.watch[id] = Tally{}
	}
	return probed
}

// Forget drops what was counted of a queue: it begins anew.
func (c *Counts) Forget(id shares.QueueID) {
	for _, half := range []map[place]Tally{c.now, c.before} {
		maps.DeleteFunc(half, func(at place, _ Tally) bool { return at.queue == id })
	}
}
