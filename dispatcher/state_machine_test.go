package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// stateMachine is machine without a database, and with more kinds of resources.
type stateMachine struct {
	*stateSite
	r     *rapid.T
	users []string
	one   bool // each job asks for one unit of one resource
	even  bool // the units of all are split evenly over users
}

func drawStateMachine(r *rapid.T, one bool) *stateMachine {
	m := &stateMachine{r: r, one: one, even: true}
	specs := []shares.Spec{node("A", 1), node("B", 2)}
	for i := range specs {
		if rapid.IntRange(0, 3).Draw(r, "turns") == 0 {
			specs[i].Plan.Within = shares.FairUser
		}
	}
	v := shares.Version{Queues: []shares.Queue{slots("q", 1000)}}
	if rapid.Bool().Draw(r, "queues") {
		v.Queues = append(v.Queues, slots("p", 1000))
	}
	for _, name := range []string{"x", "y"} {
		v.Resources = append(v.Resources, m.drawResource(name))
	}
	for i := range rapid.IntRange(2, 5).Draw(r, "users") {
		m.users = append(m.users, fmt.Sprint("u", i))
	}
	m.stateSite = newStateSite(r, specs, v)
	m.rows = rapid.SampledFrom([]int{1, 3, 250}).Draw(r, "rows")
	m.lost = func() bool { return rapid.IntRange(0, 15).Draw(r, "lost") == 0 }
	return m
}

func (m *stateMachine) drawResource(name string) shares.Resource {
	u := units(name, rapid.Int64Range(1, 7).Draw(m.r, name))
	u.MaxBypass = rapid.IntRange(1, 4).Draw(m.r, "bypass")
	kind := rapid.SampledFrom([]string{"even", "even", "even", "per queue", "weights", "tree", "share", "exempt", "none"}).Draw(m.r, "split")
	m.even = m.even && (kind == "even" || kind == "per queue")
	switch kind {
	case "per queue":
		u.PerQueue = true
	case "weights":
		u.Split.Weights = map[string]float64{shares.Others: 1, "u0": 3, "u1": 0.5}
	case "tree":
		u.Split.Tree = []shares.SplitNode{
			{Name: "g", Weight: 2, Children: []shares.SplitNode{{Name: "u0", Weight: 1}, {Name: "u1", Weight: 1}}},
			{Name: "h", Weight: 3, Children: []shares.SplitNode{{Name: shares.Others, Weight: 1}}}}
	case "share":
		u.Split.By = shares.SplitByShare
	case "exempt":
		u.Exempt = []string{"u1"}
	case "none":
		u.Split.By, u.Exempt = shares.SplitByNone, []string{shares.Everybody}
	}
	return u
}

// pick draws a job that is leased, or one that is ready.
func (m *stateMachine) pick(leased bool) *stateJob {
	of := slices.DeleteFunc(m.sorted(), func(j *stateJob) bool { return j.leased != leased })
	if len(of) == 0 {
		return nil
	}
	return of[rapid.IntRange(0, len(of)-1).Draw(m.r, "job")]
}

func (m *stateMachine) anyQueue() *queue {
	return m.s.queues[shares.QueueID(rapid.IntRange(1, len(m.s.version.Queues)).Draw(m.r, "queue"))]
}

var stateSteps = map[string]func(*stateMachine){
	"submit": func(m *stateMachine) {
		user := rapid.SampledFrom(m.users).Draw(m.r, "user")
		need := job.Requirements{Cores: 1, SharingID: user, User: user, Resources: map[string]int64{}}
		for _, name := range []string{"x", "y"} {
			if n := rapid.Int64Range(0, 2).Draw(m.r, name); n > 0 && (!m.one || len(need.Resources) == 0) {
				if need.Resources[name] = n; m.one {
					need.Resources[name] = 1
				}
			}
		}
		m.submit(shares.ShareID(rapid.IntRange(1, 2).Draw(m.r, "share")), rapid.Int64Range(0, 2).Draw(m.r, "priority"),
			rapid.Int64Range(1, 6).Draw(m.r, "n"), need)
	},
	"pull": func(m *stateMachine) {
		q := m.anyQueue()
		may := m.mayRun(q)
		if n := m.pull(q, rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(m.r, "most")); n == 0 && may > 0 && m.one {
			m.Fatalf("no job was given at %s, though %d may run:%s", q.Name, may, m)
		}
		m.checkHeld()
	},
	"finish": func(m *stateMachine) {
		if j := m.pick(true); j != nil {
			m.end(j, rapid.IntRange(0, 3).Draw(m.r, "again") == 0)
		}
	},
	"elsewhere": func(m *stateMachine) {
		j, q := m.pick(false), m.anyQueue()
		if j == nil {
			return
		}
		for name, n := range j.need.Resources {
			if b := m.supplyAt(name, q).book; b.Usable()-b.Held() < n {
				return
			}
		}
		m.leasedElsewhere(j, q)
	},
	"cancel": func(m *stateMachine) {
		if j := m.pick(false); j != nil {
			m.cancel(j)
		}
	},
	"report": func(m *stateMachine) {
		name := rapid.SampledFrom([]string{"x", "y"}).Draw(m.r, "name")
		total := rapid.Int64Range(0, 12).Draw(m.r, "total")
		row := externalRow{Name: name, Total: total, Used: rapid.Int64Range(0, total).Draw(m.r, "used"), ReportedAt: m.now}
		if r, _ := m.s.version.Resource(name); r.PerQueue {
			row.QueueID = m.anyQueue().ID
		}
		m.s.report(row)
	},
	"resize": func(m *stateMachine) {
		i, n := rapid.IntRange(0, 1).Draw(m.r, "resource"), rapid.Int64Range(0, 8).Draw(m.r, "capacity")
		m.change(func(v *shares.Version) { v.Resources[i].Live = []shares.LiveCapacity{{Capacity: n}} })
	},
	"time": func(m *stateMachine) { m.pass(time.Duration(rapid.IntRange(1, 400).Draw(m.r, "s")) * time.Second) },
	"leave": func(m *stateMachine) {
		if q := m.anyQueue(); q.asked() {
			clear(q.pilots)
			m.s.pilotsAt(q, false)
		}
	},
	"turnover": (*stateMachine).fair,
}

func (m *stateMachine) pullAll() {
	for more := true; more; {
		more = false
		for _, q := range m.s.queues {
			for m.pull(q, 1) > 0 {
				more = true
			}
		}
	}
}

// fair ends every job that runs, one by one; then nobody who wants as much lacks what everybody would have at least.
func (m *stateMachine) fair() {
	m.look()
	m.pullAll()
	for _, j := range m.sorted() {
		if m.jobs[j.id] == j && j.leased {
			m.end(j, false)
			m.pullAll()
		}
	}
	for _, ref := range []string{"x", "y"} {
		r, _ := m.s.version.Resource(ref)
		if !m.one || !m.even || r.PerQueue {
			continue
		}
		b, held, demand := m.supplyAt(ref, nil).book, map[string]int64{}, map[string]int64{}
		for _, j := range m.jobs {
			if n := j.need.Resources[ref]; n > 0 {
				demand[j.need.SharingID] += n
				if j.leased {
					held[j.need.SharingID] += n
				}
			}
		}
		for id, d := range demand {
			if floor := b.Usable() / int64(len(demand)); held[id] < min(d, floor) {
				m.Fatalf("%s holds %d of %s after a turnover, wants %d, and of %d units everybody could have %d: %v%s", id, held[id], ref, d,
					b.Usable(), floor, held, m)
			}
		}
	}
}

// rest says that what can run does so in the end: whatever was kept for somebody is so for max_hold at the most.
func (m *stateMachine) rest() {
	for _, q := range m.s.queues {
		m.pull(q, 1)
		given, may := 0, m.mayRun(q)
		for range 12 {
			m.pass(7 * time.Minute)
			given += m.pull(q, 1)
		}
		if may = min(may, m.mayRun(q)); may > 0 && given == 0 {
			m.Fatalf("no job was given at %s for long, though %d may run:%s", q.Name, may, m)
		}
	}
}

func (m *stateMachine) run() {
	often := []string{"submit", "submit", "pull", "pull", "pull", "pull", "finish", "finish"}
	steps := append(often, slices.Sorted(maps.Keys(stateSteps))...)
	for range rapid.IntRange(5, 60).Draw(m.r, "steps") {
		stateSteps[rapid.SampledFrom(steps).Draw(m.r, "step")](m)
	}
	m.fair()
	m.rest()
	m.checkHeld()
}

// Whatever is submitted, pulled, ended, cancelled, resized and reported, here and at other daemons: all is counted, nobody is
// refused what is free, nobody is below its part for longer than a turnover. With several resources a job nobody is refused
// for ever what is free.
func TestStateMachine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { drawStateMachine(r, true).run() })
}

func TestStateMachineSeveral(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { drawStateMachine(r, false).run() })
}
