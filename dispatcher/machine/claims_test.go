package machine

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// claimed is what a test has told of claims.
type claimed struct {
	next   int64
	claims map[int64][]int64 // that are not scaled away, and their jobs
	jobs   map[int64]int64   // jobs that are not over, and their tasks
	ready  map[int64]bool
	waits  map[int64]int32 // jobs that wait, and their next attempts
}

// devicesOf are those that pilots of all nodes have.
var devicesOf = []string{"gpu:0", "gpu:1", "gpu:2", "gpu:3"}

// manyDevices are enough for whatever is drawn.
var manyDevices = []string{"gpu:0", "gpu:1", "gpu:2", "gpu:3", "gpu:4", "gpu:5", "gpu:6", "gpu:7"}

func drawTemplate(t *rapid.T, name string, units bool) shares.ClaimTemplate {
	c := shares.ClaimTemplate{Name: name, MaxSharers: rapid.IntRange(0, 3).Draw(t, "most"), Linger: time.Duration(rapid.IntRange(0, 1).Draw(t, "linger")) * time.Minute}
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		c.Node = true
	case 1, 2:
		c.Devices = map[string]int{"gpu": 1}
	}
	if n := rapid.Int64Range(0, 1).Draw(t, "units"); n > 0 && units {
		c.Resources = map[string]int64{"licence": n}
	}
	return c
}

// claimTask makes a task whose jobs hold claims: of the task, of a part, of a job.
func (w *world) claimTask(units bool) func(t *rapid.T) {
	return func(t *rapid.T) {
		c := w.claims
		task, share := 100+c.next, w.leaf(t)
		nJobs := rapid.Int64Range(1, 6).Draw(t, "jobs")
		var ids []int64
		for range rapid.IntRange(1, 3).Draw(t, "claims") {
			c.next++
			w.apply(t, entry.Claimed{Claim: c.next, Task: task, Key: fmt.Sprint("k", c.next), Jobs: int(nJobs), SharingID: "ann",
				Template: drawTemplate(t, fmt.Sprint("t", c.next%3), units), Missing: rapid.IntRange(0, 9).Draw(t, "missing") == 0})
			ids, c.claims[c.next] = append(ids, c.next), nil
		}
		shape := int32(rapid.IntRange(1, 7).Draw(t, "shape"))
		all := entry.Enqueued{Task: task, Share: share, Shape: shape, Low: w.nextID, High: w.nextID + nJobs - 1, Attempt: 1, User: "ann"}
		w.nextID += nJobs
		for low := all.Low; low <= all.High; {
			high := min(all.High, low+rapid.Int64Range(0, 4).Draw(t, "more"))
			own := slices.Clone(ids)
			if rapid.Bool().Draw(t, "own") {
				c.next++
				w.apply(t, entry.Claimed{Claim: c.next, Task: task, Key: fmt.Sprint("k", c.next), Jobs: int(high - low + 1), SharingID: "ann", Template: drawTemplate(t, "own", units)})
				own, c.claims[c.next] = append(own, c.next), nil
			}
			w.apply(t, entry.Joined{Task: task, Low: low, High: high, Claims: own})
			for id := low; id <= high; id++ {
				c.jobs[id], c.ready[id] = task, true
				for _, claim := range own {
					c.claims[claim] = append(c.claims[claim], id)
				}
			}
			low = high + 1
		}
		for low := all.Low; low <= all.High; {
			e := all
			e.Low, e.High, e.Place = low, min(all.High, low+rapid.Int64Range(0, 4).Draw(t, "at once")), rapid.Int64Range(-1, 1).Draw(t, "place")
			w.apply(t, e)
			low = e.High + 1
		}
	}
}

// follows notes what a world's entries make of jobs that hold claims.
func (w *world) follows(e entry.Entry) {
	switch e := e.(type) {
	case entry.Granted:
		delete(w.claims.ready, e.Job)
	case entry.Ended:
		if _, holds := w.claims.jobs[e.Job]; !holds {
			return
		}
		if delete(w.claims.ready, e.Job); e.Next == entry.Again {
			w.claims.ready[e.Job] = true
		} else if e.Next == entry.Waits {
			w.claims.waits[e.Job] = e.Attempt + 1
		} else if e.Next.Final() {
			delete(w.claims.jobs, e.Job)
		}
	case entry.Enqueued:
		for id := e.Low; id <= e.High && e.Attempt > 1; id++ {
			if w.claims.jobs[id] == e.Task && w.claims.waits[id] == e.Attempt { // others stay as they are
				w.claims.ready[id] = true
				delete(w.claims.waits, id)
			}
		}
	case entry.Killed:
		for id, task := range w.claims.jobs {
			if _, runs := w.leader.Lease(id); task == e.Task && e.Low <= id && id <= e.High && !runs {
				delete(w.claims.jobs, id)
				delete(w.claims.ready, id)
			}
		}
	}
}

// forget cancels jobs that have no lease.
func (w *world) forget(t *rapid.T, ids []int64) {
	for _, id := range ids {
		if _, runs := w.leader.Lease(id); w.claims.jobs[id] != 0 && !runs {
			w.apply(t, entry.Killed{Task: w.claims.jobs[id], Low: id, High: id, Reason: "killed"})
		}
	}
}

// pauseClaims pauses a task whose jobs hold claims, or resumes it.
func (w *world) pauseClaims(t *rapid.T) {
	task := 100 + rapid.Int64Range(0, max(0, w.claims.next)).Draw(t, "task")
	if w.leader.aside.Pauses(task) {
		w.apply(t, entry.Resumed{Task: task})
	} else {
		w.apply(t, entry.Paused{Task: task})
	}
}

func (w *world) cancel(t *rapid.T) {
	ids := slices.Sorted(maps.Keys(w.claims.ready))
	if len(ids) > 0 {
		from := rapid.IntRange(0, len(ids)-1).Draw(t, "from")
		w.forget(t, ids[from:min(len(ids), from+rapid.IntRange(1, 3).Draw(t, "n"))])
	}
}

// scaleAway ends a claim with the jobs of it that are ready.
func (w *world) scaleAway(t *rapid.T) {
	ids := slices.Sorted(maps.Keys(w.claims.claims))
	if len(ids) == 0 {
		return
	}
	id := rapid.SampledFrom(ids).Draw(t, "claim")
	if _, there := w.leader.claims.Claim(id); there {
		w.apply(t, entry.Unclaimed{Claim: id})
		w.forget(t, w.claims.claims[id])
	}
	delete(w.claims.claims, id)
}

// outside makes, deletes or makes anew a claim of people, and jobs that hold it.
func (w *world) outside(t *rapid.T) {
	const id = 1_000_000
	c, there := w.leader.claims.Claim(id)
	switch {
	case !there || c.Missing:
		w.apply(t, entry.Claimed{Claim: id, Key: "disk", Queue: 1, Node: "n1", Template: shares.ClaimTemplate{Name: "disk", MaxSharers: 2}})
	case c.State == resource.ClaimBound && rapid.Bool().Draw(t, "delete"):
		w.apply(t, entry.Unclaimed{Claim: id})
	case c.State == resource.ClaimBound:
		w.apply(t, entry.Joined{Task: 90, Low: w.nextID, High: w.nextID, Claims: []int64{id}})
		w.apply(t, entry.Enqueued{Task: 90, Share: w.leaf(t), Shape: 1, Low: w.nextID, High: w.nextID, Attempt: 1, User: "ann"})
		w.claims.jobs[w.nextID], w.claims.ready[w.nextID] = 90, true
		w.nextID++
	}
}

// ends has a lease end: by a report, or since it ran out, alone or with all of its node.
func (w *world) ends(t *rapid.T) {
	var jobs []int64
	for l := range w.leader.Leases() {
		jobs = append(jobs, l.Job)
	}
	if len(jobs) == 0 {
		return
	}
	slices.Sort(jobs)
	first, _ := w.leader.Lease(rapid.SampledFrom(jobs).Draw(t, "job"))
	how := rapid.SampledFrom([]entry.Outcome{entry.Finished, entry.Failed, entry.Lost}).Draw(t, "outcome")
	node := how == entry.Lost && rapid.Bool().Draw(t, "node")
	for _, id := range jobs {
		l, _ := w.leader.Lease(id)
		if id != first.Job && !(node && l.Node == first.Node && l.Queue == first.Queue) {
			continue
		}
		e := entry.Ended{Job: id, Attempt: l.Attempt, Outcome: how, Next: entry.Over}
		drains := slices.ContainsFunc(w.leader.claims.HeldBy(id), func(c int64) bool {
			of, _ := w.leader.claims.Claim(c)
			return !of.External && of.State != resource.ClaimBound
		})
		if how != entry.Finished && !drains {
			if e.Next = entry.Again; rapid.Bool().Draw(t, "waits") {
				e.Next = entry.Waits
			}
		}
		w.apply(t, e)
	}
}

func drawClaimPull(w *world, t *rapid.T) Pull {
	p := w.drawPull(t)
	p.Node = rapid.SampledFrom([]string{"n1", "n1", "n2", "n3", ""}).Draw(t, "node")
	p.Devices = devicesOf[:rapid.IntRange(0, 4).Draw(t, "devices")]
	if rapid.IntRange(0, 5).Draw(t, "a claim's task") == 0 && w.claims.next > 0 {
		p.Only.Task, p.Only.User = 100+rapid.Int64Range(0, w.claims.next).Draw(t, "task"), ""
	}
	return p
}

// newClaimWorld is a world in which jobs hold claims.
func newClaimWorld(t *rapid.T, units bool) *world {
	w := newWorld(t)
	w.claims = &claimed{claims: map[int64][]int64{}, jobs: map[int64]int64{}, ready: map[int64]bool{}, waits: map[int64]int32{}}
	if units {
		w.resources = []shares.Resource{{Name: "licence", Capacity: 5, Split: shares.Split{By: shares.SplitByUser}, MaxBypass: 10, MaxHold: time.Minute}}
		w.adopt(t)
	}
	return w
}

// check recounts claims from leases.
func (w *world) check(t *rapid.T) {
	m := w.leader
	sharers, devices, units := map[int64]int{}, map[string]int64{}, int64(0)
	for l := range m.Leases() {
		for _, id := range m.claims.HeldBy(l.Job) {
			sharers[id]++
			c, ok := m.claims.Claim(id)
			if !ok || c.State != resource.ClaimBound && c.State != resource.ClaimDraining {
				t.Fatalf("job %d runs and holds claim %d, which is %+v", l.Job, id, c.Claim)
			}
			if c.Local && c.Place != m.sorts.place(l.Queue, l.Node) {
				t.Fatalf("job %d runs at node %q of queue %d, its claim %d is at %v", l.Job, l.Node, l.Queue, id, c.Place)
			}
		}
		units += m.words.shapes[l.Shape].full.Resources["licence"]
	}
	for id := int64(1); id <= w.claims.next; id++ {
		c, ok := m.claims.Claim(id)
		if !ok {
			continue
		}
		if most := c.Template.MaxSharers; c.Sharers != sharers[id] || most > 0 && c.Sharers > most && c.State != resource.ClaimDraining {
			t.Fatalf("claim %d has %d sharers of %d, and %d leases hold it", id, c.Sharers, most, sharers[id])
		}
		for _, d := range c.Devices {
			at := fmt.Sprint(c.Place, d)
			if of := devices[at]; of != 0 {
				t.Fatalf("claims %d and %d have %s", of, id, at)
			}
			devices[at] = id
		}
		if c.Charged() {
			units += c.Charge.Units["licence"]
		}
	}
	for _, shelf := range m.View().Shelves() {
		if held := shelf.Book.Held(); shelf.Ref == "licence" && held != units {
			t.Fatalf("%d licences are held, leases and claims have %d", held, units)
		}
	}
	if units > 5 {
		t.Fatalf("%d licences are held of 5", units)
	}
	w.checkReady(t)
}

// checkReady says that every ready job is in the buffer of its sort, and that nothing stays of sorts that are over.
func (w *world) checkReady(t *rapid.T) {
	m := w.leader
	for job := range w.claims.ready {
		if m.aside.Pauses(w.claims.jobs[job]) {
			continue
		}
		party := m.claims.Of(job)
		at := m.ready.Within(party.Task, job, job)
		if len(at) != 1 {
			t.Fatalf("job %d is ready, and in %d buffers", job, len(at))
		}
		key := m.buffers[at[0].Key].log()
		key.Shape = m.words.variants[variantKey{key.Shape, party.Sort().Text()}].idOr(key.Shape)
		if m.givesTurns(key.Share) {
			key.User, _ = m.ready.User(party.Task)
		}
		if at[0].Key != key {
			t.Fatalf("job %d is ready, and not with its sort %q: %+v", job, party.Sort().Text(), at[0].Key)
		}
	}
	for key, b := range m.buffers {
		if b.shape.passes() && b.Count() == 0 {
			t.Fatalf("buffer %v of %q has no job", key, b.shape.sort.Text())
		}
	}
	for at, of := range m.sorts.bays {
		if len(of) == 0 {
			t.Fatalf("nothing is bound to %v", at)
		}
	}
}

func (sh *shape) idOr(id int32) int32 {
	if sh == nil {
		return id
	}
	return sh.id
}

// Whatever happens, claims are a recount of leases, no device is of two claims, units are charged if and only if a claim is bound, and
// whoever follows has the same state. In the end all jobs have run and nothing is left.
func TestClaimWorld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newClaimWorld(t, true)
		submit := w.claimTask(true)
		pull := func(t *rapid.T) { w.decide(t, drawClaimPull(w, t)) }
		t.Repeat(map[string]func(*rapid.T){"submit": submit, "submit more": submit, "enqueue": w.enqueue, "pull": pull, "pull again": pull, "pull more": pull,
			"ends": w.ends, "end": w.ends, "cancel": w.cancel, "scale away": w.scaleAway, "outside": w.outside, "tick": w.tick, "bound": w.bound, "adopt": w.adopt, "pause": w.pauseClaims, "come back": w.comeBack,
			"report": w.report, "": func(t *rapid.T) {
				if w.leader.Digest() != w.follower.Digest() {
					t.Fatalf("the states differ after %d entries", len(w.log))
				}
				w.check(t)
			}})
		if c := w.leader.Checkpoint(); w.restored(t, c).Digest() != w.leader.Digest() {
			t.Fatalf("the state that was restored is another:\n%s", cmp.Diff(w.leader.told(), w.restored(t, c).told()))
		}
		again := New(Config{LocalWait: time.Minute})
		for _, e := range w.log {
			if err := again.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if again.Digest() != w.leader.Digest() {
			t.Fatal("the log read again makes another state")
		}
		w.stoodAgain(t)
		w.drain(t)
	})
}

// decide has the leader decide and the follower apply it.
func (w *world) decide(t *rapid.T, p Pull) Decision {
	d := w.leader.Decide(p)
	for _, e := range d.Entries {
		if err := w.follower.Apply(e); err != nil {
			t.Fatalf("%#v: %v", e, err)
		}
		w.log = append(w.log, e)
		w.follows(e)
	}
	return d
}

// drain has all jobs that hold claims run to their end, but those whose template never comes or whose share has gone.
func (w *world) drain(t *rapid.T) {
	w.easy = true
	w.adopt(t)
	for _, task := range w.leader.aside.Tasks() {
		w.apply(t, entry.Resumed{Task: task})
	}
	for e, ok := w.waiting(t); ok; e, ok = w.waiting(t) {
		w.apply(t, e)
	}
	for _, r := range []string{"licence", "disk"} {
		w.apply(t, entry.Reported{Name: r, Total: 100, At: w.leader.now})
	}
	for id := range w.claims.next + 1 {
		if c, ok := w.leader.claims.Claim(id); ok && c.Missing {
			w.apply(t, entry.Unclaimed{Claim: id})
			w.forget(t, w.claims.claims[id])
		}
	}
	for try := range 400 {
		if c, ok := w.leader.claims.Claim(1_000_000); ok && c.Missing { // maybe since its last sharer ended just now
			w.outside(t)
		}
		var ends []entry.Ended
		for l := range w.leader.Leases() {
			ends = append(ends, entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over})
		}
		slices.SortFunc(ends, func(a, b entry.Ended) int { return int(a.Job - b.Job) })
		for _, e := range ends {
			w.apply(t, e)
		}
		w.seconds += 61
		w.apply(t, entry.Tick{Now: start.Add(time.Duration(w.seconds) * time.Second)})
		var left int
		for id := range w.claims.ready {
			for _, r := range w.leader.sorts.readyOf(w.leader.claims.Of(id)) {
				if _, ok := w.leader.site.Leaf(r.Share); ok {
					left++
				}
			}
		}
		if left == 0 && w.leader.leases.Many() == 0 {
			break
		}
		if try == 399 {
			t.Fatalf("%d jobs are left: %v", left, w.leftOver())
		}
		w.decide(t, Pull{Queue: shares.QueueID(try%2 + 1), Node: []string{"n1", "n2", "n3"}[try/2%3], Devices: manyDevices, Slot: job.Slot{Cores: 16}, Most: 16, Pilot: "p", Nonce: 1})
		w.check(t)
	}
	w.forget(t, slices.Sorted(maps.Keys(w.claims.ready))) // of shares that have gone
	for id := int64(1); id <= w.claims.next; id++ {
		if c, ok := w.leader.claims.Claim(id); ok {
			t.Fatalf("claim %d is left: %+v", id, c)
		}
	}
	for _, sh := range w.leader.words.shapes {
		if sh.passes() {
			t.Fatalf("a shape is left of sort %q", sh.sort.Text())
		}
	}
	if n := len(w.leader.sorts.bays); n > 0 {
		t.Fatalf("%d bays are left", n)
	}
}

func (w *world) leftOver() (list []string) {
	for id := range w.claims.ready {
		p := w.leader.claims.Of(id)
		list = append(list, fmt.Sprintf("job %d, sort %q, claims %v, %+v", id, p.Sort().Text(), w.leader.claims.HeldBy(id), w.leader.sorts.readyOf(p)))
	}
	return list
}
