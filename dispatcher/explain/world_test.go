package explain

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// node is a share: a leaf unless it has children.
func node(name string, weight float64, children ...shares.Spec) shares.Spec {
	p := shares.DefaultPlan()
	p.Weight = weight
	return shares.Spec{Name: name, Plan: p, Children: children}
}

// owner is a leaf that owns units.
func owner(name string, owned int64, lend, borrow string) shares.Spec {
	s := node(name, 1)
	s.Plan.Owned = shares.Of(shares.Units(owned * 1000))
	for word, to := range map[string]*shares.Limit{lend: &s.Plan.Lend, borrow: &s.Plan.Borrow} {
		if word == "none" {
			none := shares.Units(0)
			to.Any = &none
		}
	}
	return s
}

// slots is a queue of n cores, one unit each.
func slots(name string, n int) shares.Queue {
	return shares.Queue{Name: name, Pool: "default", State: shares.Online, Slots: &n, CorePowerMilli: 1000}
}

// plant is a machine for a test, and what it was told.
type plant struct {
	t      testing.TB
	m      *machine.Machine
	site   shares.Version
	shapes map[string]int32
	next   int64
	tasks  int64
}

func newPlant(t testing.TB, root []shares.Spec, queues ...shares.Queue) *plant {
	t.Helper()
	p := &plant{t: t, m: machine.New(machine.Config{Making: time.Second, LocalWait: time.Minute}), shapes: map[string]int32{}, next: 1}
	tree, err := shares.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	id := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { id++; return id })
	p.site = shares.Version{Tree: tree}
	p.apply(entry.Tick{Now: start})
	p.adopt(func(v *shares.Version) {
		for i := range queues {
			queues[i].ID = shares.QueueID(i + 1)
		}
		v.Queues = queues
	})
	for i := range queues {
		p.apply(entry.Polled{Queue: shares.QueueID(i + 1), Is: true})
	}
	return p
}

func (p *plant) apply(e entry.Entry) {
	p.t.Helper()
	if err := p.m.Apply(e); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) adopt(change func(*shares.Version)) {
	p.t.Helper()
	p.site.Number++
	change(&p.site)
	v := p.site
	p.apply(entry.Adopted{Number: v.Number, Site: &v})
}

// share is the id of a path.
func (p *plant) share(path string) shares.ShareID {
	p.t.Helper()
	node, ok := p.site.Tree.ByPath(path)
	if !ok {
		p.t.Fatalf("no share %s", path)
	}
	return p.site.Tree.Nodes[node].ID
}

// batch is jobs of one task.
type batch struct {
	share    string
	n        int
	cores    int
	priority int
	user     string
	need     job.Requirements
}

// shape finds or makes the shape of a batch.
func (p *plant) shape(b batch) int32 {
	need := b.need
	need.Cores = max(1, b.cores)
	if node, ok := p.site.Tree.ByPath(b.share); ok && p.site.Tree.Nodes[node].Plan.Within == shares.FairUser {
		need.User = b.user
	}
	if need.Resources != nil {
		need.SharingID = b.user
	}
	key := job.Class(need) + string(jsonOf(p.t, need))
	if p.shapes[key] == 0 {
		p.shapes[key] = int32(len(p.shapes) + 1)
		p.apply(entry.Shaped{Shape: p.shapes[key], Need: need})
	}
	return p.shapes[key]
}

// enqueue makes the jobs of a batch ready, and returns them as subjects.
func (p *plant) enqueue(b batch) (jobs []Subject) {
	p.t.Helper()
	p.tasks++
	n := int64(max(1, b.n))
	e := entry.Enqueued{Task: p.tasks, Share: p.share(b.share), Shape: p.shape(b), Place: int64(-b.priority), Low: p.next, High: p.next + n - 1, Attempt: 1, User: b.user}
	p.apply(e)
	p.next += n
	for id := e.Low; id <= e.High; id++ {
		jobs = append(jobs, Subject{Job: id, Task: e.Task, Share: e.Share, Path: b.share, Shape: e.Shape, State: "ready", Place: e.Place, User: b.user})
	}
	return jobs
}

// pull is a pull for one job with a slot as large as the queue, and the share that it got a job of; empty: none.
func (p *plant) pull(queue string) (share string) {
	p.t.Helper()
	q, ok := p.m.Queue(queue)
	if !ok {
		p.t.Fatalf("no queue %s", queue)
	}
	slot := job.Slot{Cores: q.Cores}
	if slot.Cores == 0 {
		slot.Cores = 1
	}
	g := p.decide(q.ID, slot)
	if g.Job == 0 {
		return ""
	}
	at, _ := p.site.Tree.ByID(g.Share)
	return p.site.Tree.Nodes[at].Path
}

func (p *plant) decide(queue shares.QueueID, slot job.Slot) (g entry.Granted) {
	d := p.m.Decide(machine.Pull{Queue: queue, Slot: slot, Most: 1, Pilot: "p", Node: "n", Nonce: 1, Until: p.m.Now()})
	for _, e := range d.Entries {
		g = e.(entry.Granted)
	}
	return g
}

// moment is the present one, with a pilot at every queue.
func (p *plant) moment() Moment {
	at := pulls{pilots: map[shares.QueueID][]Pilot{}, waiting: map[shares.QueueID]int{}}
	for _, q := range p.site.Queues {
		at.pilots[q.ID] = []Pilot{{}}
	}
	return Moment{View: p.m.View(), At: p.m.Now(), Pulls: at}
}

// pulls are what a test says of them.
type pulls struct {
	pilots  map[shares.QueueID][]Pilot
	waiting map[shares.QueueID]int
}

func (p pulls) PullsAt(q shares.QueueID) (pilots, waiting int) { return len(p.pilots[q]), p.waiting[q] }
func (p pulls) FreeAt(q shares.QueueID) int64                  { return int64(p.waiting[q]) }
func (p pulls) PilotsAt(q shares.QueueID) iter.Seq[Pilot]      { return slices.Values(p.pilots[q]) }
