package dispatcher

import (
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/shares"
)

// Bounds of what is kept in memory of late: decisions, and how attempts ended at each queue, and how long pulls waited
// there, in so many parts of an hour.
const (
	keptDecisions = 4096
	latelyParts   = 12
	latelyPart    = time.Hour / latelyParts
)

// lately is what this daemon has in memory of the last while, for people who look: nothing is decided by it. It is
// empty when a daemon begins. Where daemons hand their pulls and ends on, the one that decides knows of all.
type lately struct {
	mu     sync.Mutex
	began  time.Time // when it began to count
	ring   []Decided // of keptDecisions at the most; that of number n is at (n - 1) % keptDecisions
	last   int64     // number of the newest
	daemon int64     // that made them
	queues map[shares.QueueID]*[latelyParts]queuePart
}

// Lately lists the decisions that this daemon has in memory, the newest first. It reads nothing else.
func (d *Dispatcher) Lately(f DecidedFilter) Lately {
	limit := f.Limit
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	r := &d.lately
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Lately{Daemon: r.daemon, Last: r.last, Items: []Decided{}}
	if n := len(r.ring); n > 0 {
		at := r.ring[(r.last-int64(n))%keptDecisions].At
		out.Since = &at
	}
	after := r.last - int64(len(r.ring))
	if f.Daemon == r.daemon {
		after = max(after, f.After)
	}
	for n := r.last; n > after && len(out.Items) < limit; n-- {
		if e := &r.ring[(n-1)%keptDecisions]; decidedFilterSelects(&f, e) {
			out.Items = append(out.Items, *e)
		}
	}
	return out
}

func decidedFilterSelects(f *DecidedFilter, e *Decided) bool {
	return (f.Task == 0 || e.Task == f.Task) && (f.Job == 0 || e.Job == f.Job) && (f.Queue == "" || e.Queue == f.Queue) &&
		(f.Share == "" || e.Share == f.Share || len(e.Share) > len(f.Share) && e.Share[:len(f.Share)] == f.Share && e.Share[len(f.Share)] == '/')
}

// granted notes the recorded decisions of a batch that took jobs, and how long its pulls had waited. d.mu is held.
func (r *lately) granted(s *state, l *lane, b leaseBatch, took func(nonce int64) bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.daemon != l.daemon {
		r.daemon, r.ring, r.last = l.daemon, nil, 0
	}
	for _, p := range b.pulls {
		var of *queue
		for _, g := range p.grants {
			if !took(g.nonce) {
				continue
			}
			if of = g.queue; g.note != nil {
				r.keep(decidedOf(s, g))
			}
		}
		if of != nil {
			part, waited := r.part(of.ID, now), now.Sub(p.arrived)
			part.pulls, part.waited, part.most = part.pulls+1, part.waited+waited, max(part.most, waited)
		}
	}
}

// keep puts a decision into the ring. r.mu is held.
func (r *lately) keep(e Decided) {
	r.last++
	e.N = r.last
	if len(r.ring) < keptDecisions {
		r.ring = append(r.ring, e)
		return
	}
	r.ring[(r.last-1)%keptDecisions] = e
}

// decidedOf is a grant with a record as people see it.
func decidedOf(s *state, g *grant) Decided {
	n := g.note
	e := Decided{At: n.at.UTC(), Job: n.job, Attempt: int(n.attempt), Task: g.job.task, Queue: g.queue.Name, Pilot: g.pull.req.Pilot,
		Node: g.pull.req.Node, Share: s.pathOf(n.share), Deficit: float64(n.deficit), Units: n.units.Float(), Round: n.round.Float(),
		Candidates: int(n.candidates), Unfit: int(n.unfit), Barred: int(n.barred),
		Rule: replay.Rule{Floor: n.floor, Weight: int(n.weight), Version: n.version}}
	if n.runnerUp != 0 {
		second := float64(n.runnerUpDeficit)
		e.RunnerUp, e.Second = s.pathOf(n.runnerUp), &second
	}
	for _, k := range n.skipped {
		e.Skipped = append(e.Skipped, Skipped{Share: s.pathOf(k.share), Reason: skipReasons[k.word]})
	}
	return e
}
