package dispatcher

import (
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// asked says whether pilots asked for jobs at the queue lately, here or at another daemon.
func (q *queue) asked() bool { return len(q.pilots) > 0 || q.elsewhere }

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
