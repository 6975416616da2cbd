package dispatcher

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// stateSite is the state of one daemon without a database: jobs are kept in memory and windows read there, so that thousands of
// cases can be tried of what keeps jobs from resources, and of what brings them back. There are no limits but resources.
type stateSite struct {
	failer
	s      *state
	now    time.Time
	jobs   map[int64]*stateJob
	shapes map[string]int32
	nJobs  int64
	nPulls int64
	rows   int         // of a read
	lost   func() bool // whether a grant comes to nothing; nil: none does
}

// failer is a test, or a case of a property.
type failer interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

type stateJob struct {
	window windowKey
	stand
	need   job.Requirements
	leased bool
	queue  *queue // of the lease
	units  shares.Units
}

// newStateSite has shares A and B and the queues and resources of a version.
func newStateSite(t failer, specs []shares.Spec, v shares.Version) *stateSite {
	m := &stateSite{failer: t, now: time.Unix(1_800_000_000, 0), jobs: map[int64]*stateJob{}, shapes: map[string]int32{}, rows: 250}
	tree, err := shares.Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(path string) shares.ShareID { return map[string]shares.ShareID{"A": 1, "B": 2}[path] })
	v.Number, v.Tree = 1, tree
	for i := range v.Queues {
		v.Queues[i].ID = shares.QueueID(i + 1)
	}
	m.s = newState()
	m.s.clock = func() time.Time { return m.now }
	m.s.adopt(v, 1, nil)
	return m
}

// submit makes n like jobs ready, and returns the first.
func (m *stateSite) submit(share shares.ShareID, priority, n int64, need job.Requirements) *stateJob {
	key, err := json.Marshal(need)
	if err != nil {
		m.Fatal(err)
	}
	shape := m.shapes[string(key)]
	if shape == 0 {
		shape = int32(len(m.shapes) + 1)
		m.shapes[string(key)] = shape
		m.s.know(shape, need)
	}
	w, place, first := windowKey{share, shape}, m.nJobs-1000*priority, m.nJobs+1
	for range n {
		m.nJobs++
		m.jobs[m.nJobs] = &stateJob{window: w, stand: stand{place, m.nJobs}, need: need}
	}
	m.s.apply(move{Task: 1, Share: share, Shape: shape, Before: isNone, After: isReady, N: int32(n), Place: place, Low: first, High: m.nJobs}, false)
	return m.jobs[first]
}

func (j *stateJob) move(before, after string) move {
	mv := move{Task: 1, Share: j.window.share, Shape: j.window.shape, Before: before, After: after, N: 1}
	if before == isLeased || after == isLeased {
		mv.Queue, mv.Units = j.queue.ID, j.units
	}
	if after == isReady || before == isReady && after != isLeased {
		mv.Place, mv.Low, mv.High = j.place, j.id, j.id
	}
	return mv
}

// end ends a lease: for good, or the job is ready again.
func (m *stateSite) end(j *stateJob, again bool) {
	after := isReady
	if j.leased = false; !again {
		after = isFinished
		delete(m.jobs, j.id)
	}
	m.s.apply(j.move(isLeased, after), true)
}

// leasedElsewhere is a grant of another daemon.
func (m *stateSite) leasedElsewhere(j *stateJob, q *queue) {
	j.leased, j.queue, j.units = true, q, 1000
	m.s.apply(j.move(isReady, isLeased), false)
	m.s.tookTurn(turnRow{j.window.share, j.window.shape, q.ID})
}

func (m *stateSite) cancel(j *stateJob) {
	delete(m.jobs, j.id)
	m.s.apply(j.move(isReady, isCancelled), false)
}

// fill reads what a window needs of the jobs, as Dispatcher.fill does.
func (m *stateSite) fill(w *window) {
	w.putOff()
	read := windowRead{spans: w.behind, from: w.cursor}
	if w.low() {
		read.on = m.rows
	}
	w.behind = nil
	var behind, next []readyJob
	for _, j := range m.sorted() {
		if j.leased || j.window != w.key {
			continue
		}
		job := readyJob{stand: j.stand, task: 1}
		if slices.ContainsFunc(read.spans, func(s span) bool { return s.place == j.place && s.low <= j.id && j.id <= s.high }) {
			behind = append(behind, job)
		}
		if read.from.before(j.stand) && len(next) < read.on {
			next = append(next, job)
		}
	}
	w.took(read, behind, next)
	if len(next) > 0 {
		w.cursor = next[len(next)-1].stand
	}
	if read.on > 0 {
		w.end = len(next) < read.on && len(w.behind) == 0
	}
	m.s.check(w)
}

// sorted are the jobs in their order.
func (m *stateSite) sorted() []*stateJob {
	return slices.SortedFunc(maps.Values(m.jobs), func(a, b *stateJob) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id))
	})
}

// pull asks for jobs at a queue as a pilot does. It returns how many were granted, those too that came to nothing.
func (m *stateSite) pull(q *queue, most int) (granted int) {
	if !q.asked() {
		q.pilots["p"] = seen{at: m.now}
		m.s.pilotsAt(q, true)
	}
	p, err := newPull(PullRequest{Queue: q.Name, Pilot: "p", Slot: job.Slot{Cores: most}, Max: most})
	if err != nil {
		m.Fatal(err)
	}
	m.nPulls++
	p.number = m.nPulls
	for tries := 0; ; tries++ {
		n := newNeeds(0)
		if m.s.decide(p, n) != blocked {
			break
		}
		if tries > 100 || len(n.windows) == 0 {
			m.Fatalf("blocked: %+v", n)
		}
		(&Dispatcher{state: m.s}).unGrant(p)
		for w := range n.windows {
			m.fill(w)
		}
	}
	for _, g := range slices.Backward(p.grants) {
		j := m.jobs[g.job.id]
		if j == nil || j.leased || m.lost != nil && m.lost() {
			g.takeBack()
			g.window.doubt = append(g.window.doubt, span{g.job.place, g.job.id, g.job.id})
			m.look()
			continue
		}
		delete(m.s.inflight, g.job.id)
		j.leased, j.queue, j.units = true, q, g.units
	}
	return len(p.grants)
}

// look is what a daemon does several times a second.
func (m *stateSite) look() {
	for _, w := range m.s.windows {
		if w.look() || w.opened != (w.leaf >= 0 && w.open()) {
			m.s.check(w)
		}
	}
	m.s.lookAtSupplies()
}

// pass lets time pass.
func (m *stateSite) pass(d time.Duration) {
	m.now = m.now.Add(d)
	m.look()
}

// supplyAt finds the units of a resource that jobs at a queue take.
func (m *stateSite) supplyAt(name string, q *queue) *supply {
	r, _ := m.s.version.Resource(name)
	key := supplyKey{ref: name}
	if r.PerQueue {
		key.queue = q.ID
	}
	return m.s.supply(key, &r)
}

// change puts another version of the site in force.
func (m *stateSite) change(change func(v *shares.Version)) {
	v := m.s.version
	v.Resources = slices.Clone(v.Resources)
	v.Number++
	change(&v)
	m.s.adopt(v, v.Number, nil)
	for _, j := range m.jobs {
		if j.queue != nil {
			j.queue = m.s.queues[j.queue.ID]
		}
	}
}

// checkHeld compares what is counted as held with the jobs.
func (m *stateSite) checkHeld() {
	type of struct {
		sup *supply
		id  string
	}
	want, all := map[of]int64{}, map[*supply]int64{}
	for _, j := range m.jobs {
		for name, n := range j.need.Resources {
			if j.leased {
				sup := m.supplyAt(name, j.queue)
				want[of{sup, m.s.sharingID(sup.of, m.s.shapes[j.window.shape], j.window.share)}] += n
				all[sup] += n
			}
		}
	}
	for _, sup := range m.s.supplies.by {
		if sup.book.Held() != all[sup] {
			m.Fatalf("%v: %d are held, want %d", sup.key, sup.book.Held(), all[sup])
		}
		for _, a := range sup.book.Allowances() {
			if a.Held != want[of{sup, a.ID}] {
				m.Fatalf("%v: %s holds %d, want %d", sup.key, a.ID, a.Held, want[of{sup, a.ID}])
			}
		}
	}
}

// mayRun counts the ready jobs for which all units are free at a queue.
func (m *stateSite) mayRun(q *queue) (n int) {
	for _, j := range m.jobs {
		fits := !j.leased
		for name, units := range j.need.Resources {
			b := m.supplyAt(name, q).book
			fits = fits && units <= b.Usable()-b.Held()
		}
		if fits {
			n++
		}
	}
	return n
}

func (m *stateSite) String() (text string) {
	for _, j := range m.sorted() {
		text += fmt.Sprintf("\n%d of %s: %v, %v, leased %v, at %d", j.id, j.need.SharingID, j.window, j.need.Resources, j.leased, j.place)
	}
	for key, sup := range m.s.supplies.by {
		text += fmt.Sprintf("\n%v: %d of %d held, why %s until %s, now %s, %+v", key, sup.book.Held(), sup.book.Usable(), sup.why, sup.until, m.now, sup.book.Allowances())
	}
	return text
}
