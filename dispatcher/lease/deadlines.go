package lease

import (
	"cmp"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/slab"
)

// deadlines knows when leases may expire, to the second: a timing wheel whose seconds are looked at as they come. Renewals write the due
// second of a lease alone; a lease that was renewed is placed anew when its old second comes. A lease costs some 30 bytes.
//
// Daemons that follow keep it too, so that nothing is to be built when they lead: whatever is due before floor has until then, and a lease
// with a TTL of its own for that TTL since the change.
type deadlines struct {
	due   slab.Map[due, *due]
	own   map[int64]int32   // TTL in seconds of leases that have not the default
	wheel map[int32][]int32 // indexes of due
	next  int32             // the first second that was not looked at
	floor int32             // no lease is due before
	rest  int32             // nor is one before this, unless it is stale
	heard *heard
	led   int32 // when this daemon came to lead

	ttl     int32           // the default
	renewed func(age int32) // called with the age of a renewal without which the lease would have expired; may be nil
}

// never is long before each second.
const never = -1 << 30

// due is when a lease is over, and the second in which it is looked at, both of the daemon's clock and rounded up.
type due struct {
	job        int64
	at, placed int32
}

func (l *due) Key() int64 { return l.job }

func newDeadlines(now time.Duration) *deadlines {
	return &deadlines{own: map[int64]int32{}, wheel: map[int32][]int32{}, next: second(now), led: never}
}

// second is the first whole second that is not before t.
func second(t time.Duration) int32 { return int32((t + time.Second - 1) / time.Second) }

// hold begins a lease that lasts until at.
func (d *deadlines) hold(job int64, at time.Duration) {
	index := d.due.Index(job)
	if index < 0 {
		index = d.due.Put(due{job: job})
	}
	d.place(index, second(at))
	d.hear(job)
}

func (d *deadlines) place(index, at int32) {
	at = max(at, d.next)
	d.put(index, at, at)
}

// put has a lease looked at when a second comes that was not looked at yet.
func (d *deadlines) put(index, end, at int32) {
	l := d.due.At(index)
	l.at, l.placed = end, at
	d.wheel[at] = append(d.wheel[at], index)
}

// last says for how long each renewal of a lease lets it last, in seconds; 0: for the default.
func (d *deadlines) last(job int64, ttl int32) {
	l := d.due.Get(job)
	if l == nil {
		return
	}
	d.hear(job)
	if ttl > 0 {
		d.own[job] = ttl
	} else {
		delete(d.own, job)
	}
	if at := d.end(l); at < l.placed { // it was longer before
		d.put(d.due.Index(job), l.at, max(at, d.next))
	}
}

// lead begins the time of a new leader: leases last for their own TTL, or for rest.
func (d *deadlines) lead(now, rest time.Duration) {
	d.led = second(now)
	d.rest = max(d.rest, second(now+rest))
}

// prolong lets a lease last until at.
func (d *deadlines) prolong(job int64, at time.Duration) {
	if l := d.due.Get(job); l != nil {
		if l.at = second(at); l.at < l.placed { // a shorter TTL than before
			d.place(d.due.Index(job), l.at)
		}
	}
}

// drop ends a lease. What the wheel has of it is skipped when its second comes.
func (d *deadlines) drop(job int64) {
	d.due.Drop(job)
	delete(d.own, job)
	if d.heard != nil {
		delete(d.heard.jobs, job)
	}
}

// spare lets all leases last until at.
func (d *deadlines) spare(at time.Duration) { d.floor = max(d.floor, second(at)) }

// over takes off leases that are due by now, at most most of them, and places anew those that are not. With a positive again nothing is over: what is due
// lasts so long from now. It looks at a bounded number of leases.
func (d *deadlines) over(now, again time.Duration, most int) (jobs []int64) {
	for looked := 0; d.next <= int32(now/time.Second); d.next++ {
		indexes := d.wheel[d.next]
		for len(indexes) > 0 {
			if len(jobs) == most || looked == lookAtMost {
				d.wheel[d.next] = indexes
				return jobs
			}
			index := indexes[len(indexes)-1]
			indexes = indexes[:len(indexes)-1]
			looked++
			l := d.due.At(index)
			if l == nil || l.placed != d.next { // ended, or placed elsewhere meanwhile
				continue
			}
			switch at := d.end(l); {
			case again > 0 && at <= d.next:
				again := second(now + again)
				d.move(index, again, again)
			case at > d.next:
				if d.renewed != nil && l.at > d.next {
					d.renewed(max(0, d.next-l.at+cmp.Or(d.own[l.job], d.ttl)))
				}
				d.move(index, l.at, at)
			default:
				jobs = append(jobs, l.job)
				d.drop(l.job) // its index may be there twice: two leases that were placed in one second
			}
		}
		delete(d.wheel, d.next)
	}
	return jobs
}

// end is when a lease is over.
func (d *deadlines) end(l *due) int32 {
	if d.stale(l.job) {
		return max(l.at, d.floor)
	}
	if ttl := d.own[l.job]; ttl > 0 {
		return max(l.at, d.floor, d.rest, d.led+ttl)
	}
	return max(l.at, d.floor, d.rest)
}

// heard is what daemons that lead by turns have told each other of leases.
type heard struct {
	since int32           // the first farewell
	jobs  map[int64]int32 // when the log last named them, if that was later
}

// farewell notes which leases a leader has heard of, that leads no more.
func (d *deadlines) farewell(e entry.Heard) {
	if d.heard == nil || e.All {
		d.heard = &heard{d.next, map[int64]int32{}}
	}
	for _, job := range e.Jobs {
		d.hear(job)
	}
}

// hear notes that the log names a lease.
func (d *deadlines) hear(job int64) {
	if d.heard != nil && d.due.Get(job) != nil {
		d.heard.jobs[job] = d.next
	}
}

// stale says of a lease that no leader has heard of it for long: a change of leader does not renew it.
func (d *deadlines) stale(job int64) bool {
	return d.heard != nil && d.next-max(d.heard.since, d.heard.jobs[job]) >= 3*cmp.Or(d.own[job], d.ttl)
}

// lookAtMost bounds how many leases one step looks at: a million leases that a takeover made due in one second take 250 steps.
const lookAtMost = 4096

// move places a lease that is due by end behind the second that is looked at.
func (d *deadlines) move(index, end, at int32) {
	d.put(index, end, max(at, d.next+1))
}

// wake is when there is something to look at.
func (d *deadlines) wake() time.Duration { return time.Duration(d.next) * time.Second }
