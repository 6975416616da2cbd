package retry

import (
	"fmt"
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

// probesEnough is how many attempts must finish in a row before a hole gets jobs as before.
const probesEnough = 3

// BlackHoleStanding is a queue that fails nearly all that it gets, while the same kinds of jobs finish elsewhere.
type BlackHoleStanding struct {
	Since time.Time `json:"since"`
	Ends  int       `json:"ends" doc:"Attempts that had ended there lately when it was found."`
	Fails int       `json:"fails" doc:"Of these, those that failed or were lost."`
	Good  int       `json:"good" doc:"Attempts that finished since the last one that did not; after three it gets jobs as before."`
}

// Hole is a queue that fails nearly all that it gets. It gets one job at a time, now and then.
type Hole struct {
	BlackHoleStanding
	BadAt time.Time // when an attempt there failed or was lost last
}

// NewHole is a queue that was just found, by what ended there.
func NewHole(t Tally, now time.Time) Hole {
	return Hole{BlackHoleStanding{Since: now, Ends: t.Ends, Fails: t.Fails}, now}
}

// Note counts what ended there since the last look, see Counts.Probed. Attempts that finished count from the last failure on; one
// that ended in the same look as a failure does not count, as their order is not known.
func (h *Hole) Note(t Tally, now time.Time) {
	if t.Fails > 0 {
		h.Good, h.BadAt = 0, now
		return
	}
	h.Good += t.good()
}

// Over reports whether the queue works again: enough attempts finished there in a row, or it is busy and none failed for a window.
// Jobs of hours would keep it a hole for long otherwise.
func (h *Hole) Over(busy bool, window time.Duration, now time.Time) bool {
	return h.Good >= probesEnough || busy && h.BadAt.Before(now.Add(-window))
}

// Words says why the queue gets hardly any jobs.
func (s *BlackHoleStanding) Words(p *policy.Policy) string {
	every := ""
	if p != nil {
		every = fmt.Sprintf(" every %s", p.BlackHole.Probe)
	}
	return fmt.Sprintf("since %s it fails nearly all that it gets (%d of %d attempts), while the same kinds of jobs finish elsewhere: it gets one job%s until %d finish in a row",
		s.Since.UTC().Format(time.RFC3339), s.Fails, s.Ends, every, probesEnough)
}
