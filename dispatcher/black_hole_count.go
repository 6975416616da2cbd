package dispatcher

import (
	"sync"
	"time"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// outcomes counts how attempts end at queues, as far as this daemon hears of it: those of the present half of a window, and
// those of the half before.
type outcomes struct {
	mu     sync.Mutex
	now    map[shares.QueueID]*queueOutcomes
	before map[shares.QueueID]*queueOutcomes
	turned time.Time
	watch  map[shares.QueueID]*tally // queues that are throttled: since the last look
}

// queueOutcomes is how attempts ended at a queue, by shape.
type queueOutcomes struct {
	all     tally
	byShape map[int32]*tally
}

// tally is how many ended, and how many of these failed or were lost.
type tally struct{ ends, fails int }

func (t *tally) add(o tally) { t.ends, t.fails = t.ends+o.ends, t.fails+o.fails }

func (t *tally) good() int { return t.ends - t.fails }

// count notes how attempts ended. Those that somebody called off say nothing about the queue.
func (o *outcomes) count(rows []endRow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range rows {
		one := tally{ends: 1}
		switch Outcome(rows[i].Outcome) {
		case Finished:
		case Failed, Lost:
			one.fails = 1
		default:
			continue
		}
		if w := o.watch[rows[i].QueueID]; w != nil {
			w.add(one)
		}
		q := o.now[rows[i].QueueID]
		if q == nil {
			if o.now == nil {
				o.now = map[shares.QueueID]*queueOutcomes{}
			}
			q = &queueOutcomes{byShape: map[int32]*tally{}}
			o.now[rows[i].QueueID] = q
		}
		t := q.byShape[rows[i].ShapeID]
		if t == nil {
			t = &tally{}
			q.byShape[rows[i].ShapeID] = t
		}
		q.all.add(one)
		t.add(one)
	}
}

// turn forgets what is older than a window.
func (o *outcomes) turn(now time.Time, window time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch since := now.Sub(o.turned); {
	case o.turned.IsZero(): // it has just begun to count
		o.turned = now
		return
	case since < window/2:
		return
	case since < window:
		o.before = o.now
	default:
		o.before = nil
	}
	o.now, o.turned = nil, now
}

// of sums up the present window of a queue.
func (o *outcomes) of(id shares.QueueID) (all tally, byShape map[int32]tally) {
	byShape = map[int32]tally{}
	for _, half := range []map[shares.QueueID]*queueOutcomes{o.before, o.now} {
		if q := half[id]; q != nil {
			all.add(q.all)
			for shape, t := range q.byShape {
				sum := byShape[shape]
				sum.add(*t)
				byShape[shape] = sum
			}
		}
	}
	return all, byShape
}

// enoughElsewhere is how many attempts must have finished at other queues before one is blamed.
const enoughElsewhere = 5

// found lists the queues that fail nearly all of what they get, where at least half of the jobs of the same shapes finish at
// other queues. Where these are nowhere else, or fail there too, it may as well be the jobs.
func (o *outcomes) found(b retry.BlackHole, known map[shares.QueueID]*hole) map[shares.QueueID]tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[shares.QueueID]tally{}
	suspects := map[shares.QueueID]map[int32]tally{}
	for id := range o.queues() {
		all, byShape := o.of(id)
		if known[id] == nil && all.ends >= b.Sample && float64(all.fails) >= b.Fails*float64(all.ends) {
			suspects[id], out[id] = byShape, all
		}
	}
	for id, byShape := range suspects {
		var elsewhere tally
		for other := range o.queues() {
			if other == id || suspects[other] != nil || known[other] != nil {
				continue
			}
			_, there := o.of(other)
			for shape := range byShape {
				elsewhere.add(there[shape])
			}
		}
		if elsewhere.good() < enoughElsewhere || elsewhere.good() < elsewhere.fails {
			delete(out, id)
		}
	}
	return out
}

func (o *outcomes) queues() map[shares.QueueID]bool {
	ids := map[shares.QueueID]bool{}
	for _, half := range []map[shares.QueueID]*queueOutcomes{o.before, o.now} {
		for id := range half {
			ids[id] = true
		}
	}
	return ids
}

// probed takes what ended at throttled queues since the last call, and watches those that are known now.
func (o *outcomes) probed(known map[shares.QueueID]*hole) map[shares.QueueID]tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[shares.QueueID]tally{}
	for id, t := range o.watch {
		if t.ends > 0 {
			out[id] = *t
		}
	}
	o.watch = map[shares.QueueID]*tally{}
	for id := range known {
		o.watch[id] = &tally{}
	}
	return out
}

// forget drops what was counted of a queue: it begins anew.
func (o *outcomes) forget(id shares.QueueID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.now, id)
	delete(o.before, id)
}
