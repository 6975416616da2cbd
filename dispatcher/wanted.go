package dispatcher

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/wanted"
	"github.com/divvyhq/divvy/shares"
)

// wantedLasts is how long the wanted pilots of queues are told again: each answer costs a solution of all queues.
const wantedLasts = 500 * time.Millisecond

// wantedBook keeps what package wanted remembers of queues, and its answers for a moment. A daemon that begins to lead starts with an
// empty one.
type wantedBook struct {
	mu      sync.Mutex
	at      time.Time
	version int64
	levels  map[shares.QueueID]wanted.Level
	answers map[shares.QueueID]wanted.Pilots
}

// of returns the wanted pilots of all queues with a provision.
func (b *wantedBook) of(m explain.Moment) map[shares.QueueID]wanted.Pilots {
	site := m.View.Site
	if !slices.ContainsFunc(site.Queues, func(q shares.Queue) bool { return q.Provision != nil }) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if since := m.At.Sub(b.at); b.answers != nil && b.version == site.Number && since >= 0 && since < wantedLasts {
		return b.answers
	}
	needs := wanted.Solve(m.WantedInput())
	levels, answers := map[shares.QueueID]wanted.Level{}, map[shares.QueueID]wanted.Pilots{}
	for i, q := range site.Queues {
		if q.Provision != nil {
			answers[q.ID], levels[q.ID] = needs[i].Answer(q.Provision, b.levels[q.ID], m.At)
		}
	}
	b.at, b.version, b.levels, b.answers = m.At, site.Number, levels, answers
	return answers
}

// WantedRequest asks for the pilots of a queue. Seen is the beginning of names of pilots; empty: no names are wanted.
type WantedRequest struct {
	Queue string `json:"queue"`
	Seen  string `json:"seen"`
}

// Wanted returns how many pilots a queue should have. Errors: ErrUnknownQueue, ErrNoProvision, ErrUnavailable.
func (r *Reads) Wanted(q WantedRequest) (out explain.QueueWanted, err error) {
	queue, err := r.d.site.named(q.Queue)
	if err != nil {
		return out, err
	}
	err = ErrUnavailable
	r.now(explain.Moment{}, func(m explain.Moment) {
		// The version of the machine may be another one by a moment.
		queue := m.View.Site.Queue(queue.ID)
		var ok bool
		if out, ok = m.QueueWanted(queue); ok {
			err = nil
		} else {
			err = fmt.Errorf("%w: queue %s", ErrNoProvision, q.Queue)
		}
	})
	if err == nil && q.Seen != "" {
		out.Seen = r.lately.SeenAt(queue.ID, q.Seen)
	}
	return out, err
}
