package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// drawAside has people pause tasks, rules decide about attempts that failed, and claims be made for more jobs than come, in every
// second plan.
func (p *Plan) drawAside(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	for range r.IntN(6) {
		p.Deeds = append(p.Deeds, Deed{Verb: []Verb{Hold, Hold, Resume}[r.IntN(3)], At: upTo(r, p.Span), Host: -1})
	}
	p.Waits = r.IntN(2) == 0
	for i := range p.Deeds {
		if c := &p.Deeds[i].Claim; c.Group > 0 {
			c.Spare = r.IntN(3)
		}
	}
}

// between is how long after the first jobs of a task the others come at the most: where tasks are paused these come into some that are.
func (p *Plan) between() time.Duration {
	if p.has("pauses") {
		return 4 * time.Second
	}
	return 20 * time.Millisecond
}

// ruling is what decides about jobs that wait, and about claims that are made for too many.
type ruling struct {
	rulings map[lease.Key]*rowTruth // by job and attempt; they have no nonce
	spares  []*spare
}

// spare is jobs that a claim was made for, and that are not made after all.
type spare struct {
	claim, task int64
	jobs        int
	at          time.Duration
	row         *rowTruth
}

// retried is the policy: a rule decides about two of three attempts that would be tried again after they failed or were lost.
func (p *Plan) retried(l machine.Lease, e entry.Ended) entry.Ended {
	e = lease.Retried(3)(l, e)
	if p.Waits && e.Next == entry.Again && e.Outcome != entry.Returned && (l.Job+int64(l.Attempt))%3 > 0 {
		e.Next = entry.Waits
	}
	return e
}

// lost says whether a row that was to be written is gone with a failover, or was in the log before what it is about.
func (w *world) lost(r *rowTruth) bool { return r == nil || r.id > 0 && (!r.there(w) || r.taken > 0) }

// judge decides about jobs that wait, by the tables: some are over, others may be tried again after a while. What they say beside is about none.
func (w *world) judge() {
	for _, id := range slices.Sorted(maps.Keys(w.truth.jobs)) {
		j := w.truth.jobs[id]
		k := lease.Key{Job: id, Attempt: j.attempt}
		if !j.waits || !w.lost(w.rulings[k]) {
			continue
		}
		r := &rowTruth{task: j.Task}
		if high := id + w.drawn.Int64N(3); w.drawn.IntN(5) == 0 {
			r.entries = []entry.Entry{entry.Closed{Task: j.Task, Low: id, High: high}}
		} else {
			e := j.Enqueued
			e.Low, e.High, e.Attempt = id, high, j.attempt
			r.entries = []entry.Entry{e}
		}
		w.rulings[k] = r
		w.after(upTo(w.delays, 4*time.Second), func() { w.write(r, -1) })
	}
	for _, s := range w.spares {
		if w.now < s.at || w.truth.claims.by[s.claim] == nil || s.row != nil && (s.row.id == 0 || s.row.there(w)) {
			continue
		}
		s.row = &rowTruth{task: s.task, maybe: w.scaled[s.claim], entries: []entry.Entry{entry.Dropped{Claim: s.claim, Unmade: s.jobs}}}
		w.write(s.row, -1)
	}
}

// spareOf has a claim that is about to be made be for more jobs than come. They are said not to come later.
func (c *claiming) spareOf(claim int64) int {
	if c.Spare > 0 {
		c.spares = append(c.spares, &spare{claim: claim, task: c.task, jobs: c.Spare, at: c.now + upTo(c.delays, 5*time.Second)})
	}
	return c.Spare
}

// verb is what people want of a task.
func (w *world) verb(d Deed) {
	r := w.truth.rangeOf(1 + w.drawn.Int64N(max(1, w.jobs)))
	if r == nil {
		return
	}
	var e entry.Entry = entry.Paused{Task: r.Task}
	switch d.Verb {
	case Resume:
		e = entry.Resumed{Task: r.Task}
		for _, task := range slices.Sorted(maps.Keys(w.truth.paused)) {
			e, r.Task = entry.Resumed{Task: task}, task
			break
		}
	}
	w.say("%+v", e)
	w.write(&rowTruth{task: r.Task, entries: []entry.Entry{e}}, d.Host)
}

// resumeAll has people resume all tasks, again and again.
func (w *world) resumeAll() {
	for _, task := range slices.Sorted(maps.Keys(w.truth.paused)) {
		w.write(&rowTruth{task: task, entries: []entry.Entry{entry.Resumed{Task: task}}}, -1)
	}
	if w.plan.has("pauses") && w.now < w.plan.Span+settling {
		w.after(renewEvery, w.resumeAll)
	}
}

// becomes has a job without a lease be ready, or aside while its task is paused.
func (t *truth) becomes(j *jobTruth) {
	if j.waits = false; t.paused[j.Task] {
		j.aside = true
		t.seen.Aside++
		return
	}
	j.ready = true
	t.ready++
}

// takeOut takes a job from where it is without a lease; false: it is nowhere.
func (t *truth) takeOut(j *jobTruth) bool {
	if j.ready {
		t.ready--
	}
	was := j.ready || j.aside || j.waits
	j.ready, j.aside, j.waits = false, false, false
	return was
}

// each visits the jobs of a task that are not over.
func (t *truth) each(task, low, high int64, visit func(id int64, j *jobTruth)) {
	for id := low; id <= high; id++ {
		if j := t.jobs[id]; j != nil && !j.over && j.Task == task {
			visit(id, j)
		}
	}
}

// of visits all jobs of a task that are not over.
func (t *truth) of(task int64, visit func(id int64, j *jobTruth)) {
	t.each(task, task, t.world.jobs, visit)
}

// verbs follows what people and rules want of jobs that have no lease.
func (t *truth) verbs(e entry.Entry) {
	switch e := e.(type) {
	case entry.Paused:
		t.paused[e.Task] = true
		t.of(e.Task, func(_ int64, j *jobTruth) {
			if j.ready {
				t.takeOut(j)
				t.becomes(j)
			}
		})
	case entry.Resumed:
		delete(t.paused, e.Task)
		t.of(e.Task, func(_ int64, j *jobTruth) {
			if j.aside {
				t.takeOut(j)
				t.becomes(j)
			}
		})
	case entry.Closed:
		t.each(e.Task, e.Low, e.High, func(id int64, j *jobTruth) {
			if j.waits {
				t.seen.Closed++
				t.takeOut(j)
				j.over = true
				t.drop(id)
			}
		})
	case entry.Enqueued:
		t.each(e.Task, e.Low, e.High, func(_ int64, j *jobTruth) {
			if j.waits && j.attempt == e.Attempt {
				t.seen.Waited++
				t.becomes(j)
			}
		})
	case entry.Dropped:
		t.seen.Dropped++
		if c := t.claims.by[e.Claim]; c == nil || c.jobs-len(c.holders) < e.Unmade {
			t.violate("%d jobs are dropped of claim %d, which has not so many without a lease", e.Unmade, e.Claim)
		} else if c.jobs -= e.Unmade; c.jobs == 0 {
			t.unbind(c)
		}
	}
}

// recountAside holds where the machine has the jobs without a lease against the model.
func (t *truth) recountAside(m *machine.Machine) {
	if !t.plan.Waits && !t.plan.has("pauses") {
		return
	}
	v := m.View()
	for id, j := range t.jobs { // any: the order does not matter where none is wrong
		want := machine.JobsView{}
		switch {
		case j.ready:
			want.Ready = 1
		case j.aside:
			want.Paused = 1
		case j.waits:
			want.Waiting = 1
		case j.lease != nil:
			want.Leased = 1
		}
		if is := v.Job(j.Task, id); is != want {
			t.violate("the machine has job %d as %+v, the log as %+v", id, is, want)
			return
		}
	}
}
