package dispatcher

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// queuePart is what happened at a queue in a part of an hour.
type queuePart struct {
	of     int64 // which part: counted from the zero of Unix time
	pulls  int64 // that were given jobs
	waited time.Duration
	most   time.Duration
	ends   retry.Tally
}

// ended notes how attempts ended. Those that somebody called off say nothing about the queue.
func (r *lately) ended(rows []endRow) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		if one := retry.TallyOf(outcomeLetters[Outcome(rows[i].Outcome)]); one.Ends > 0 {
			r.part(rows[i].QueueID, now).ends.Add(one)
		}
	}
}

// part is the present part of a queue's hour. r.mu is held.
func (r *lately) part(id shares.QueueID, now time.Time) *queuePart {
	if r.queues == nil {
		r.queues = map[shares.QueueID]*[latelyParts]queuePart{}
	}
	of := r.queues[id]
	if of == nil {
		of = &[latelyParts]queuePart{}
		r.queues[id] = of
	}
	n := partOf(now)
	p := &of[n%latelyParts]
	if p.of != n {
		*p = queuePart{of: n}
	}
	return p
}

func partOf(at time.Time) int64 { return at.Unix() / int64(latelyPart/time.Second) }

// QueuesLately says of every queue, or of one by its name, who holds its cores, and how it did in the last hour as far as
// this daemon heard of it. In file order. From counters in memory.
func (d *Dispatcher) QueuesLately(name string) []QueueLately {
	d.mu.Lock()
	out, ids := []QueueLately{}, []shares.QueueID{}
	at := map[shares.QueueID]int{}
	for _, q := range d.state.version.Queues {
		if name == "" || q.Name == name {
			at[q.ID] = len(out)
			ids, out = append(ids, q.ID), append(out, QueueLately{Queue: q.Name, Held: []QueueHeld{}})
		}
	}
	d.state.heldByQueue(at, out)
	d.mu.Unlock()
	for i := range out {
		slices.SortFunc(out[i].Held, func(a, b QueueHeld) int { return cmp.Or(-cmp.Compare(a.Cores, b.Cores), cmp.Compare(a.Share, b.Share)) })
	}
	d.lately.figures(ids, out)
	return out
}

// heldByQueue sums up who holds what at queues; at says which of out is a queue's.
func (s *state) heldByQueue(at map[shares.QueueID]int, out []QueueLately) {
	for share, of := range s.held {
		path := ""
		mine := map[int]int{} // of out: which of its Held is the share's
		for key, h := range of {
			i, is := at[key.queue]
			sh := s.shapes[key.shape]
			if !is || sh == nil || h.jobs <= 0 || sh.need.Charges() {
				continue
			}
			if path == "" {
				path = s.pathOf(share)
			}
			n, there := mine[i]
			if !there {
				n = len(out[i].Held)
				mine[i], out[i].Held = n, append(out[i].Held, QueueHeld{Share: path})
			}
			out[i].Held[n].Jobs += h.jobs
			out[i].Held[n].Cores += h.jobs * int64(sh.need.Cores)
		}
	}
}

// figures fills in what was counted in the last hour.
func (r *lately) figures(ids []shares.QueueID, out []QueueLately) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	since := now.Add(-time.Hour)
	if r.began.After(since) {
		since = r.began
	}
	for i, id := range ids {
		q := &out[i]
		q.Since = since.UTC()
		of := r.queues[id]
		if of == nil {
			continue
		}
		var waited, most time.Duration
		for _, p := range of {
			if p.of > partOf(now)-latelyParts {
				q.Pulls, q.Ended, q.Failed = q.Pulls+p.pulls, q.Ended+int64(p.ends.Ends), q.Failed+int64(p.ends.Fails)
				waited, most = waited+p.waited, max(most, p.most)
			}
		}
		if q.Pulls > 0 {
			q.MeanS, q.MostS = waited.Seconds()/float64(q.Pulls), most.Seconds()
		}
		if q.Ended > 0 {
			q.Failure = float64(q.Failed) / float64(q.Ended)
		}
	}
}
