package lease

import (
	"cmp"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// deadlines knows when leases may expire, to the second: a timing wheel whose seconds are looked at as they come. Renewals write the due
// second of a lease alone; a lease that was renewed is placed anew when its old second comes. A lease costs 17 to 37 bytes in due and 8 to 16 in
// the wheel.
//
// Daemons that follow keep it too, so that nothing is to be built when they lead: whatever is due before floor has until then, and a lease
// with a TTL of its own for that TTL since the change.
type deadlines struct {
	due   map[int64]due   // by job
	own   map[int64]int32 // TTL in seconds of leases that have not the default
	wheel map[int32][]int64
	next  int32 // the first second that was not looked at
	floor int32 // no lease is due before
	rest  int32 // nor is one before this, unless it is stale
	heard *heard
	led   int32 // when this daemon came to lead

	ttl     int32           // the default
	renewed func(age int32) // hears how old the renewal of a lease is that would be over without; nil: nobody does
}

// never is long before each second.
const never = -1 << 30

// due is in seconds of the daemon's clock, rounded up.
type due struct{ at, placed int32 }

func newDeadlines(now time.Duration) *deadlines {
	return &deadlines{due: map[int64]due{}, own: map[int64]int32{}, wheel: map[int32][]int64{}, next: second(now), led: never}
}

// second is the first whole second that is not before t.
func second(t time.Duration) int32 { return int32((t + time.Second - 1) / time.Second) }

// hold begins a lease that lasts until at.
func (d *deadlines) hold(job int64, at time.Duration) {
	d.place(job, second(at))
	d.hear(job)
}

func (d *deadlines) place(job int64, at int32) {
	at = max(at, d.next)
	d.put(job, at, at)
}

// put has a lease looked at when a second comes that was not looked at yet.
func (d *deadlines) put(job int64, end, at int32) {
	d.due[job] = due{end, at}
	d.wheel[at] = append(d.wheel[at], job)
}

// last says for how long each renewal of a lease lets it last, in seconds; 0: for the default.
func (d *deadlines) last(job int64, ttl int32) {
	l, live := d.due[job]
	if !live {
		return
	}
	d.hear(job)
	if ttl > 0 {
		d.own[job] = ttl
	} else {
		delete(d.own, job)
	}
	if at := d.end(job, l); at < l.placed { // it was longer before
		d.put(job, l.at, max(at, d.next))
	}
}

// lead begins the time of a new leader: leases last for their own TTL, or for rest.
func (d *deadlines) lead(now, rest time.Duration) {
	d.led = second(now)
	d.rest = max(d.rest, second(now+rest))
}

// prolong lets a lease last until at.
func (d *deadlines) prolong(job int64, at time.Duration) {
	if l, ok := d.due[job]; ok {
		if l.at = second(at); l.at < l.placed { // a shorter TTL than before
			d.place(job, l.at)
			return
		}
		d.due[job] = l
	}
}

// drop ends a lease. What the wheel has of it is skipped when its second comes.
func (d *deadlines) drop(job int64) {
	delete(d.due, job)
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
		ids := d.wheel[d.next]
		for len(ids) > 0 {
			if len(jobs) == most || looked == lookAtMost {
				d.wheel[d.next] = ids
				return jobs
			}
			job := ids[len(ids)-1]
			ids = ids[:len(ids)-1]
			looked++
			l, ok := d.due[job]
			switch at := d.end(job, l); {
			case !ok || l.placed != d.next: // ended, or placed elsewhere meanwhile
			case again > 0 && at <= d.next:
				again := second(now + again)
				d.move(job, again, again)
			case at > d.next:
				if d.renewed != nil && l.at > d.next {
					d.renewed(max(0, d.next-l.at+cmp.Or(d.own[job], d.ttl)))
				}
				d.move(job, l.at, at)
			default:
				d.drop(job) // it may be there twice: two attempts that were placed in one second
				jobs = append(jobs, job)
			}
		}
		delete(d.wheel, d.next)
	}
	return jobs
}

// end is when a lease is over.
func (d *deadlines) end(job int64, l due) int32 {
	if d.stale(job) {
		return max(l.at, d.floor)
	}
	if ttl := d.own[job]; ttl > 0 {
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
	if _, live := d.due[job]; live && d.heard != nil {
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
func (d *deadlines) move(job int64, end, at int32) {
	d.put(job, end, max(at, d.next+1))
}

// wake is when there is something to look at.
func (d *deadlines) wake() time.Duration { return time.Duration(d.next) * time.Second }
