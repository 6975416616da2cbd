package dispatcher

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// asked says whether pilots asked for jobs at the queue lately, here or at another daemon.
func (q *queue) asked() bool { return len(q.pilots) > 0 || q.elsewhere }

// mostKept bounds what is remembered of the pilots of a queue, in bytes: some sixty thousand of them as they are usually called.
const mostKept = 16 << 20

// size is about what it takes to remember a pilot.
func (s seen) size(pilot string) int {
	n := 200 + len(pilot) + len(s.node)
	for _, id := range s.devices {
		n += 16 + len(id)
	}
	if s.only != nil {
		n += 100 + len(s.only.User)
		for _, label := range s.only.Labels {
			n += 16 + len(label)
		}
	}
	return n
}

// sees remembers the last pull of a pilot. Where there are too many, those that asked longest ago are forgotten, a quarter at
// once: names that no one uses twice must not fill the memory.
func (q *queue) sees(pilot string, s seen) {
	if before, known := q.pilots[pilot]; known {
		q.kept -= before.size(pilot)
	}
	q.pilots[pilot] = s
	if q.kept += s.size(pilot); q.kept <= mostKept {
		return
	}
	last := slices.SortedFunc(maps.Keys(q.pilots), func(a, b string) int { return q.pilots[a].at.Compare(q.pilots[b].at) })
	for _, name := range last[:len(last)-1] {
		q.kept -= q.pilots[name].size(name)
		if delete(q.pilots, name); q.kept <= mostKept*3/4 {
			break
		}
	}
}

// forgetBefore forgets pilots that asked before a time.
func (q *queue) forgetBefore(then time.Time) {
	q.kept = 0
	for name, s := range q.pilots {
		if s.at.Before(then) {
			delete(q.pilots, name)
			continue
		}
		q.kept += s.size(name)
	}
}

// pilotQueues are the queues at which pilots asked this daemon lately.
func (d *Dispatcher) pilotQueues() []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := []int32{}
	for _, q := range d.state.queues {
		if len(q.pilots) > 0 {
			ids = append(ids, int32(q.ID))
		}
	}
	return ids
}

// pilotsElsewhere follows at which queues pilots ask other daemons.
func (s *state) pilotsElsewhere(at map[shares.QueueID]bool) {
	for _, q := range s.queues {
		was := q.asked()
		if q.elsewhere = at[q.ID]; q.asked() != was {
			s.pilotsAt(q, !was)
		}
	}
}

// pilotsAt follows that a queue has pilots from now on, or none any more: what jobs want that it could run counts, or not.
func (s *state) pilotsAt(q *queue, some bool) {
	s.diary.tape.pilots(q.ID, some)
	d := 1
	if !some {
		d = -1
	}
	for _, o := range slices.Concat(q.outlines, q.bound) {
		o.pilots += d
		if len(o.shapes) == 0 {
			continue
		}
		for _, w := range o.windows {
			switch sh := w.shape; {
			case sh.asks == nil || sh.unknown || !q.policy.admits(w.leaf):
			case sh.byQueue && !s.hasOwn(q):
				s.bundle(w, nil).Want(0)
				s.tellWanted(w, false)
			case sh.byQueue && some:
				s.tellWantedAt(w, q, false)
			case sh.byQueue:
				s.bundle(w, q).Want(0)
			case s.pilotsFor(w, 1) == 0:
				s.bundle(w, nil).Want(0)
			case some && s.pilotsFor(w, 2) == 1:
				s.tellWantedAt(w, nil, false)
			}
		}
	}
}
