package lease

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// tip is the newest batch that is known to be committed.
type tip struct {
	seq    int64
	id     entry.ID
	at     time.Time
	known  time.Duration // when this daemon came to know of it
	leader int64         // the leader; 0: none, or not known
}

// replica is what a daemon makes of the log, whether it leads or not.
type replica struct {
	machine Machine
	tip     tip
	leases  *deadlines
	recent  *recent
	told    func(e entry.Entry)
	heard   func(entry.Batch)
}

// newReplica begins with a machine made of the tables. Each lease has a whole TTL from now on.
func newReplica(r Reloaded, cfg *Config, now time.Duration) *replica {
	n := &replica{machine: r.Machine, leases: newDeadlines(now), recent: newRecent(cfg.Bounds.Requests), told: cfg.Told, heard: cfg.Heard}
	n.tip.seq, n.tip.id = r.Machine.Stand()
	n.tip.at, n.tip.known, n.tip.leader = r.At, now, r.Leader
	if r.TTLs != nil {
		n.leases.own = r.TTLs
	}
	n.leases.ttl = second(cfg.Timing.TTL)
	for _, id := range r.Over {
		n.recent.request(id)
	}
	for l := range r.Machine.Leases() {
		n.leases.hold(l.Job, now+cfg.Timing.TTL)
		if l.Request != (entry.ID{}) {
			n.recent.reused(l.Request)
		}
	}
	return n
}

func (r *replica) follows(b *entry.Batch) bool { return b.Seq == r.tip.seq+1 && b.After == r.tip.id }

// advance applies a batch of the log. Leases that it grants last until due.
func (r *replica) advance(b entry.Batch, now, due time.Duration) error {
	for _, e := range b.Entries {
		r.note(e, b.Seq, due)
		if err := r.machine.Apply(e); err != nil {
			return err
		}
	}
	r.committed(b, now)
	return nil
}

// committed makes a batch the tip whose entries the machine has already.
func (r *replica) committed(b entry.Batch, now time.Duration) {
	leader := b.By
	switch {
	case Wishes(b):
		leader = r.tip.leader
	case yields(b):
		leader = 0
	}
	r.tip = tip{b.Seq, b.ID, b.At, now, leader}
	r.machine.Reach(b.Seq, b.ID)
	r.heard(b)
}

// note keeps leases and ends up to date with an entry that the machine is about to apply, or has just decided. A lease that begins lasts until due.
func (r *replica) note(e entry.Entry, seq int64, due time.Duration) {
	switch e := e.(type) {
	case entry.Granted:
		r.told(e)
		r.leases.hold(e.Job, due)
		if e.Request != (entry.ID{}) {
			r.recent.reused(e.Request)
		}
	case entry.Leader:
		if r.tip.leader != 0 { // what the previous leader heard is lost
			r.leases.heard = nil
		}
	case entry.Heard:
		r.leases.farewell(e)
	case entry.Adopted, entry.Tick:
		r.told(e)
	case entry.Started:
		r.leases.last(e.Job, e.TTLS)
	case entry.Lasting:
		r.leases.last(e.Job, e.TTLS)
	case entry.Ended:
		if l, ok := r.machine.Lease(e.Job); ok && l.Attempt == e.Attempt {
			r.recent.ended(l, e, seq)
			r.leases.drop(e.Job)
		}
	}
}

// live is the lease of a key, if it is the one that its job has.
func (r *replica) live(k Key) (machine.Lease, bool) {
	l, ok := r.machine.Lease(k.Job)
	return l, ok && keyOf(l) == k
}

// clock is about what the log's clock shows now. Nothing that the log says follows from it.
func (r *replica) clock(now time.Duration) time.Time { return r.tip.at.Add(now - r.tip.known) }
