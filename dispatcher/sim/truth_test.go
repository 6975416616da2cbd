package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// truth is what the log says, by a model that knows nothing of the machine but its entries. It judges each batch as it is committed.
type truth struct {
	*world
	machine lease.Machine // the log replayed, to compare states
	batches []entry.Batch
	ranges  []entry.Enqueued
	jobs    map[int64]*jobTruth
	leases  map[lease.Key]*leaseTruth
	held    [2]int
	ready   int
	paused  map[int64]bool // tasks
	holdings
	time    time.Time // of the last tick
	leader  time.Duration
	supply  []supply
	decided map[lease.Key]time.Duration // when a daemon decided that a lease is lost
	leapt   bool
	outage  outage

	sum sum

	ever
	pilots  map[string]int // batches that granted to a pull
	history []happening
	rowsTruth
	attempted map[lease.Key]time.Duration // when a pilot first said how it ended
}

// ever is what was true once, also what a failover lost.
type ever struct {
	ended   map[lease.Key]entry.Outcome
	granted map[lease.Key]bool

	farewells bool // daemons have led by turns
}

// jobTruth is a job.
type jobTruth struct {
	entry.Enqueued
	ready   bool
	aside   bool // its task is paused
	waits   bool // for a rule
	over    bool
	attempt int32 // the next one
	lease   *leaseTruth
}

// leaseTruth is a lease, live or not.
type leaseTruth struct {
	entry.Granted
	pays   shares.ShareID
	began  time.Duration
	heard  time.Duration // when a renewal was said that was answered
	ended  *entry.Ended
	endSeq int64
	endAt  time.Duration
}

// sum is the digest of the state at a batch.
type sum struct {
	batch  entry.ID
	digest [32]byte
}

// outage is the last time in which a leader could append nothing for long.
type outage struct {
	by         int64
	last       time.Duration // its newest batch
	begin, end time.Duration
}

// heardOf notes a batch of a leader. A tick comes each second.
func (o *outage) heardOf(by int64, now time.Duration) {
	if by == o.by && now-o.last > stopped+1500*time.Millisecond {
		o.begin, o.end = o.last, now
	}
	o.by, o.last = by, now
}

// supply is where there is a job from a time on.
type supply struct {
	at  time.Duration
	has [spots]bool
}

// told is what a pilot was told, and when.
type told struct {
	pilot      string
	called, at time.Duration
}

// happening is something that a pilot learned, or that the log says, of a job.
type happening struct {
	told
	key     lease.Key
	what    what
	outcome entry.Outcome
	is      bool
}

type what byte

const (
	wasTold what = iota // that it was granted
	wasRenewed
	wasEnded
)

func newTruth(w *world) *truth {
	t := &truth{world: w, decided: map[lease.Key]time.Duration{}, ever: ever{ended: map[lease.Key]entry.Outcome{}, granted: map[lease.Key]bool{}},
		pilots: map[string]int{}, rowsTruth: rowsTruth{rows: map[int64]*rowTruth{}, beside: map[entry.ID][]int64{}}, attempted: map[lease.Key]time.Duration{}}
	t.forget()
	return t
}

// forget begins with an empty log.
func (t *truth) forget() {
	t.machine, t.batches, t.ranges = t.tables.new(), nil, nil
	t.jobs, t.leases = map[int64]*jobTruth{}, map[lease.Key]*leaseTruth{}
	t.held, t.ready, t.time, t.newest, t.paused = [2]int{}, 0, time.Time{}, map[int64]int64{}, map[int64]bool{}
	t.holdings = newHoldings(&t.plan)
	for _, r := range t.rows {
		r.taken = 0
	}
}

// digest is that of the log's state. It is asked for by several daemons.
func (t *truth) digest() [32]byte {
	if id := t.id(); t.sum.batch != id {
		t.sum = sum{id, t.machine.Digest()}
		t.recount()
	}
	return t.sum.digest
}

func (t *truth) seq() int64 { return int64(len(t.batches)) }

func (t *truth) id() (id entry.ID) {
	if len(t.batches) > 0 {
		id = t.batches[len(t.batches)-1].ID
	}
	return id
}

func (t *truth) rangeOf(job int64) *entry.Enqueued {
	if i := slices.IndexFunc(t.ranges, func(r entry.Enqueued) bool { return r.Low <= job && job <= r.High }); i >= 0 {
		return &t.ranges[i]
	}
	return nil
}

// failOver drops what the log has no more.
func (t *truth) failOver(seq int64) {
	kept := t.batches[:seq]
	began, heard := map[lease.Key]time.Duration{}, map[lease.Key]time.Duration{}
	for k, l := range t.leases {
		began[k], heard[k] = l.began, l.heard
	}
	t.forget()
	for _, b := range kept {
		t.apply(b)
	}
	for k, l := range t.leases {
		l.began, l.heard = began[k], heard[k]
	}
	t.supplied()
}

// committed judges the batches that were just committed.
func (t *truth) committed(batches []entry.Batch) {
	for _, b := range batches {
		t.say("batch %d by %d is in the log", b.Seq, b.By)
		t.note(uint64(b.Seq), uint64(b.By), uint64(len(b.Entries)))
		if b.Seq != t.seq()+1 || b.After != t.id() {
			t.violate("batch %d does not follow %d", b.Seq, t.seq())
		}
		t.apply(b)
	}
	t.supplied()
}

func (t *truth) apply(b entry.Batch) {
	t.batches = append(t.batches, b)
	t.complete([]entry.Batch{b})
	t.outage.heardOf(b.By, t.world.now)
	t.rowsOf(b)
	t.order = asksOf(b)
	byPilot := map[string]bool{}
	for _, e := range b.Entries {
		if t.wiring.Seen != nil {
			t.wiring.Seen(e)
		}
		if _, of := e.(entry.Took); !of && entry.KindOf(e) != entry.KindGranted {
			t.together()
		}
		switch e := e.(type) {
		case entry.Enqueued:
			t.enqueued(e)
		case entry.Granted:
			t.grant(e)
			if byPilot[e.Pilot] = true; e.Request == (entry.ID{}) {
				continue
			}
			delete(byPilot, e.Pilot) // by request
		case entry.Ended:
			t.end(e, b.Seq)
		case entry.Killed:
			for id := e.Low; id <= e.High; id++ {
				if j := t.jobs[id]; j != nil && j.Task == e.Task && t.takeOut(j) {
					j.over = true
					t.drop(id)
				}
			}
		case entry.Leader:
			t.leader = t.world.now
		case entry.Heard:
			t.farewells = true
		case entry.Tick:
			if e.Now.Before(t.time) || e.Now.After(b.At) {
				t.violate("batch %d: the time %v is before %v or after the batch", b.Seq, e.Now, t.time)
			}
			t.time = e.Now
			t.lingered(e.Now)
			t.forgive(e.Now)
		default:
			t.other(e)
		}
	}
	t.together()
	if err := advance(t.machine, b); err != nil { // last: what is wrong with it was said by then
		t.violate("batch %d does not fit the machine: %v", b.Seq, err)
	}
	for p := range byPilot {
		if t.pilots[p]++; t.pilots[p] > 1 && t.plan.Twice == 0 && t.tables.lost == 0 {
			t.violate("pull %s, said once, was granted in two batches", p)
		}
	}
}

func (t *truth) enqueued(e entry.Enqueued) {
	if e.Attempt > 1 {
		t.verbs(e)
		return
	}
	t.ranges = append(t.ranges, e)
	for id := e.Low; id <= e.High; id++ {
		if t.jobs[id] != nil {
			t.violate("job %d is announced twice", id)
		}
		t.jobs[id] = &jobTruth{Enqueued: e, attempt: e.Attempt}
		t.becomes(t.jobs[id])
	}
}

func (t *truth) grant(g entry.Granted) {
	j := t.jobs[g.Job]
	switch {
	case j == nil:
		t.violate("job %d is granted and was never announced", g.Job)
		return
	case j.lease != nil:
		t.violate("job %d has two leases: attempt %d while %d is live", g.Job, g.Attempt, j.lease.Attempt)
	case j.over:
		t.violate("job %d is over and is granted again", g.Job)
	case j.aside:
		t.violate("job %d is granted, and its task is paused", g.Job)
	case j.waits:
		t.violate("job %d is granted, and waits for a rule", g.Job)
	case !j.ready || g.Attempt != j.attempt:
		t.violate("job %d: attempt %d is granted, the next is %d", g.Job, g.Attempt, j.attempt)
	}
	t.mayHold(j, &g)
	t.takeOut(j)
	l := &leaseTruth{Granted: g, pays: j.Share, began: t.world.now}
	k := lease.Key{Job: g.Job, Attempt: g.Attempt, Nonce: g.Nonce}
	j.lease, t.leases[k], t.granted[k] = l, l, true
	q := int(g.Queue) - 1
	if t.held[q]++; t.site.Slots[q] > 0 && t.held[q] > t.site.Slots[q] {
		t.violate("queue %d of %d slots holds %d", q, t.site.Slots[q], t.held[q])
	}
	t.hold(l)
}

func (t *truth) end(e entry.Ended, seq int64) {
	j := t.jobs[e.Job]
	if j == nil || j.lease == nil || j.lease.Attempt != e.Attempt {
		t.violate("attempt %d of job %d ends, and is not live", e.Attempt, e.Job)
		return
	}
	l := j.lease
	j.lease, l.ended, l.endSeq, l.endAt = nil, &e, seq, t.world.now
	j.attempt = e.Attempt + 1
	if j.over, j.waits = e.Next.Final(), e.Next == entry.Waits; !j.over && !j.waits {
		t.becomes(j)
	}
	t.held[l.Queue-1]--
	if e.Outcome == entry.Returned {
		if t.seen.Returned++; e.Next == entry.Over {
			t.violate("job %d was given back, and is over", e.Job)
		}
	}
	t.release(l, &e)
	k := lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}
	if t.ended[k] = e.Outcome; e.Outcome == entry.Lost {
		t.lost(k, l)
	}
}

// lost judges whether a lease was lost too early.
func (t *truth) lost(k lease.Key, l *leaseTruth) {
	t.seen.Lost++
	at, patience := t.decided[k], t.plan.ttl()
	if p := t.world.pilotOf(l.Pilot); t.plan.Groups > 0 && p != nil && !p.dead() && !(p.Silent > 0 && t.world.now > p.Silent) && p.runs(k) {
		t.violate("lease %+v is lost, and its pilot renews it", k)
	}
	if t.leapt {
		patience = grace // whoever believes to have slept waits for so long
	}
	least := time.Duration(float64(patience) * (1 - 2*drift))
	switch {
	case t.tables.lost > 0: // leases of a time that is no more
	case at < l.began+least:
		t.violate("lease %+v is lost %v after its grant", k, at-l.began)
	case l.heard > 0 && at < l.heard+least:
		t.violate("lease %+v is lost %v after a renewal that was answered", k, at-l.heard)
	case at > t.outage.begin+2*time.Second && at < t.outage.end+time.Duration(float64(grace)*(1-2*drift)):
		t.violate("lease %+v is lost %v after a time in which nothing could be appended", k, at-t.outage.end)
	case at < t.leader+least && t.farewells && at >= max(l.began, l.heard)+3*least:
		t.seen.Stale++
	case at < t.leader+least:
		t.violate("lease %+v is lost %v after a change of leader", k, at-t.leader)
	}
}

// done says whether every job has ended.
func (t *truth) done() bool {
	for _, j := range t.jobs {
		if !j.over {
			return false
		}
	}
	return true
}

func (t *truth) undone() string {
	n, live := 0, 0
	for _, j := range t.jobs {
		if !j.over {
			n++
		}
		if j.lease != nil {
			live++
		}
	}
	return fmt.Sprintf("%d of %d jobs are not over, %d with a lease; %d rows are pending", n, len(t.jobs), live, t.pending())
}

// none judges a pull that was told that there is no job: at some moment of its call there must have been none.
func (t *truth) none(spot int, w told) {
	i, _ := slices.BinarySearchFunc(t.supply, w.called, func(s supply, at time.Duration) int {
		if s.at <= at {
			return -1
		}
		return 1
	})
	for i = max(0, i-1); i < len(t.supply) && t.supply[i].at <= w.at; i++ {
		if !t.supply[i].has[spot] {
			return
		}
	}
	if t.tables.lost == 0 {
		t.violate("pull %s was told that there is no job between %v and %v, and there was one", w.pilot, w.called, w.at)
	}
}

// given judges an answer with leases.
func (t *truth) given(leases, before []machine.Lease, pull *machine.Pull, w told) {
	for _, l := range leases {
		k := lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}
		if !t.granted[k] {
			t.violate("pull %s was given %+v, which is not in the log", w.pilot, k)
		}
		if before != nil && !slices.ContainsFunc(before, func(b machine.Lease) bool { return b.Job == l.Job && b.Attempt == l.Attempt && b.Nonce == l.Nonce }) && t.tables.lost == 0 {
			t.violate("pull %s, said again, was given %+v besides", w.pilot, k)
		}
		t.history = append(t.history, happening{w, k, wasTold, 0, true})
	}
	if len(leases) > pull.Most {
		t.violate("pull %s for %d jobs was given %d", w.pilot, pull.Most, len(leases))
	}
}

// renewed judges the answer to a renewal.
func (t *truth) renewed(k lease.Key, kept bool, w told) {
	if l := t.leases[k]; l != nil && kept {
		l.heard = max(l.heard, w.called)
	}
	t.history = append(t.history, happening{w, k, wasRenewed, 0, kept})
}

func (t *truth) finishing(k lease.Key, at time.Duration) {
	if _, ok := t.attempted[k]; !ok {
		t.attempted[k] = at
	}
}

// recorded judges the answer to an end.
func (t *truth) recorded(k lease.Key, o entry.Outcome, is bool, w told) {
	if was, ok := t.ended[k]; is && (!ok || was != o) {
		t.violate("%+v was told to be recorded as %c, and the log has not got it", k, o)
	} else if !is && ok && was == o && t.tables.lost == 0 {
		t.violate("%+v was told to be lost, and the log has it as %c", k, o)
	}
	t.history = append(t.history, happening{w, k, wasEnded, o, is})
}
