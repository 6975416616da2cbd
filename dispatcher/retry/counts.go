package retry

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// Tally is how many attempts ended, and how many of these failed or were lost.
type Tally struct{ Ends, Fails int }

// Add adds another tally.
func (t *Tally) Add(o Tally) { t.Ends, t.Fails = t.Ends+o.Ends, t.Fails+o.Fails }

// Good returns how many finished.
func (t *Tally) Good() int { return t.Ends - t.Fails }

// TallyOf returns what one attempt says about its queue. It is zero for attempts that were called off: they say nothing.
func TallyOf(said entry.Outcome) Tally {
	switch said {
	case entry.Finished:
		return Tally{Ends: 1}
	case entry.Failed, entry.Lost:
		return Tally{Ends: 1, Fails: 1}
	}
	return Tally{}
}

// Counts is how attempts ended at queues, by shape: in the present half of a window, and in the half before. The zero Counts is
// ready to use. It is for one goroutine at a time.
type Counts struct {
	now    map[shares.QueueID]*queueCounts
	before map[shares.QueueID]*queueCounts
	turned time.Time
	watch  map[shares.QueueID]*Tally // of holes: since the last call of Probed
}

type queueCounts struct {
	all     Tally
	byShape map[int32]*Tally
}

// Add counts the end of an attempt at a queue.
func (c *Counts) Add(queue shares.QueueID, shape int32, said entry.Outcome) {
	one := TallyOf(said)
	if one.Ends == 0 {
		return
	}
	if w := c.watch[queue]; w != nil {
		w.Add(one)
	}
	q := c.now[queue]
	if q == nil {
		if c.now == nil {
			c.now = map[shares.QueueID]*queueCounts{}
		}
		q = &queueCounts{byShape: map[int32]*Tally{}}
		c.now[queue] = q
	}
	t := q.byShape[shape]
	if t == nil {
		t = &Tally{}
		q.byShape[shape] = t
	}
	q.all.Add(one)
	t.Add(one)
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

// sum returns the counts of a queue in both halves.
func (c *Counts) sum(id shares.QueueID) (all Tally, byShape map[int32]Tally) {
	byShape = map[int32]Tally{}
	for _, half := range []map[shares.QueueID]*queueCounts{c.before, c.now} {
		if q := half[id]; q != nil {
			all.Add(q.all)
			for shape, t := range q.byShape {
				sum := byShape[shape]
				sum.Add(*t)
				byShape[shape] = sum
			}
		}
	}
	return all, byShape
}

// enoughElsewhere is how many attempts must have finished at other queues before one is blamed.
const enoughElsewhere = 5

// Found returns the queues that fail nearly all that they get, while at least half of the attempts of the same shapes finish at
// other queues. Where these run nowhere else, or fail there too, the jobs may be at fault. Known queues are not found again.
func (c *Counts) Found(b policy.BlackHole, known map[shares.QueueID]*Hole) map[shares.QueueID]Tally {
	out := map[shares.QueueID]Tally{}
	suspects := map[shares.QueueID]map[int32]Tally{}
	queues := c.Queues()
	for id := range queues {
		all, byShape := c.sum(id)
		if known[id] == nil && all.Ends >= b.Sample && float64(all.Fails) >= b.Fails*float64(all.Ends) {
			suspects[id], out[id] = byShape, all
		}
	}
	for id, byShape := range suspects {
		var elsewhere Tally
		for other := range queues {
			if suspects[other] != nil || known[other] != nil {
				continue
			}
			_, there := c.sum(other)
			for shape := range byShape {
				elsewhere.Add(there[shape])
			}
		}
		if elsewhere.Good() < enoughElsewhere || elsewhere.Good() < elsewhere.Fails {
			delete(out, id)
		}
	}
	return out
}

// Queues returns the queues of which something is counted.
func (c *Counts) Queues() map[shares.QueueID]bool {
	ids := map[shares.QueueID]bool{}
	for _, half := range []map[shares.QueueID]*queueCounts{c.before, c.now} {
		for id := range half {
			ids[id] = true
		}
	}
	return ids
}

// Probed returns what ended at holes since the last call, and watches those that are known now.
func (c *Counts) Probed(known map[shares.QueueID]*Hole) map[shares.QueueID]Tally {
	out := map[shares.QueueID]Tally{}
	for id, t := range c.watch {
		if t.Ends > 0 {
			out[id] = *t
		}
	}
	c.watch = make(map[shares.QueueID]*Tally, len(known))
	for id := range known {
		c.watch[id] = &Tally{}
	}
	return out
}

// Forget drops what was counted of a queue: it begins anew.
func (c *Counts) Forget(id shares.QueueID) {
	delete(c.now, id)
	delete(c.before, id)
}
