package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// world is a machine that decides, one that follows, and what a test has told them.
type world struct {
	leader   *Machine
	follower *Machine
	site     shares.Version
	shapes   []job.Requirements
	nextID   int64
	seconds  int
	log      []entry.Entry

	claims    *claimed // nil: it is a world without claims
	resources []shares.Resource
	easy      bool // the site has no limits
}

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func newWorld(t *rapid.T) *world {
	w := &world{leader: New(Config{LocalWait: time.Minute}), follower: New(Config{LocalWait: time.Minute}), nextID: 1}
	w.shapes = []job.Requirements{
		{Cores: 1, WalltimeS: 600}, {Cores: 4}, {Cores: 1, MemoryMB: 8000}, {Cores: 2, Label: "mc"},
		{Cores: 1, Locations: []string{"disk"}, Locality: job.LocalityPreferred}, {Cores: 1, Labels: map[string]string{"os": "el9"}},
		{Cores: 1, Queues: []string{"q0", "q1"}}, {Cores: 1, User: "ann"}, {Cores: 1, User: "bob"}, {Cores: 2, User: "cid"},
	}
	w.apply(t, entry.Tick{Now: start})
	for i, need := range w.shapes {
		w.apply(t, entry.Shaped{Shape: int32(i + 1), Need: need})
	}
	w.adopt(t)
	return w
}

// apply is for what does not come of a decision: both machines count it.
func (w *world) apply(t *rapid.T, e entry.Entry) {
	for _, m := range []*Machine{w.leader, w.follower} {
		if err := m.Apply(e); err != nil {
			t.Fatalf("%#v: %v", e, err)
		}
	}
	w.log = append(w.log, e)
	if w.claims != nil {
		w.follows(e)
	}
}

func drawAmount(t *rapid.T, most int) shares.Amount {
	return shares.Of(shares.Units(rapid.IntRange(0, most).Draw(t, "units")) * 1000)
}

func drawPlan(t *rapid.T) shares.Plan {
	p := shares.DefaultPlan()
	p.Weight = float64(rapid.IntRange(1, 5).Draw(t, "weight"))
	oneIn := func(n int) bool { return rapid.IntRange(1, n).Draw(t, "dice") == n }
	if oneIn(4) {
		p.Max = drawAmount(t, 12)
	}
	if oneIn(5) {
		p.Owned = drawAmount(t, 6)
	}
	if oneIn(5) {
		u := shares.Units(rapid.IntRange(0, 4).Draw(t, "lend")) * 1000
		p.Lend.Any = &u
	}
	if oneIn(5) {
		u := shares.Units(rapid.IntRange(0, 4).Draw(t, "borrow")) * 1000
		p.Borrow.Any = &u
	}
	if oneIn(6) {
		p.HalfLife = shares.Duration(time.Minute)
	}
	if oneIn(4) {
		p.Within = shares.FairUser
	}
	return p
}

// adopt draws a site: some ten shares, three queues in two pools.
func (w *world) adopt(t *rapid.T) {
	var specs []shares.Spec
	for i := range rapid.IntRange(1, 3).Draw(t, "top") {
		s := shares.Spec{Name: fmt.Sprintf("s%d", i), Plan: drawPlan(t)}
		for k := range rapid.IntRange(0, 3).Draw(t, "below") {
			s.Children = append(s.Children, shares.Spec{Name: fmt.Sprintf("t%d", k), Plan: drawPlan(t)})
		}
		specs = append(specs, s)
	}
	if w.easy {
		for i := range specs {
			specs[i].Plan = shares.DefaultPlan()
			for k := range specs[i].Children {
				specs[i].Children[k].Plan = shares.DefaultPlan()
			}
		}
	}
	tree, err := shares.Build(specs)
	if err != nil {
		t.Skip("not a tree: ", err)
	}
	ids := map[string]shares.ShareID{}
	for i := range 3 {
		ids[fmt.Sprintf("s%d", i)] = shares.ShareID(10 * (i + 1))
		for k := range 3 {
			ids[fmt.Sprintf("s%d/t%d", i, k)] = shares.ShareID(10*(i+1) + k + 1)
		}
	}
	tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	v := shares.Version{Number: w.site.Number + 1, Tree: tree, Resources: w.resources}
	for i := range 3 {
		q := shares.Queue{ID: shares.QueueID(i + 1), Name: fmt.Sprintf("q%d", i), Pool: []string{"main", "main", "side"}[i], State: shares.Online,
			CorePowerMilli: rapid.SampledFrom([]int64{1000, 2000}).Draw(t, "power"), Cores: 8, MemoryMB: 16000}
		if rapid.IntRange(0, 3).Draw(t, "slots") > 0 {
			n := rapid.IntRange(1, 10).Draw(t, "n")
			q.Slots = &n
		}
		q.State = rapid.SampledFrom([]shares.QueueState{shares.Online, shares.Online, shares.Online, shares.Test, shares.Drain}).Draw(t, "state")
		if i == 0 {
			q.Labels, q.Locations = map[string]string{"os": "el9"}, []string{"disk"}
		}
		if rapid.IntRange(0, 4).Draw(t, "prefer") == 0 {
			q.Prefer = "wide"
		}
		if rapid.IntRange(0, 4).Draw(t, "deny") == 0 {
			q.DenyShares = []string{"s0"}
		}
		if w.easy {
			q.Slots, q.State, q.DenyShares = nil, shares.Online, nil
		}
		v.Queues = append(v.Queues, q)
	}
	if w.easy {
		w.apply(t, entry.Bounded{})
	}
	w.site = v
	w.apply(t, entry.Adopted{Number: v.Number, Site: &v})
}

// leaf draws a share that holds jobs, or one that is gone.
func (w *world) leaf(t *rapid.T) shares.ShareID {
	leaves := w.site.Tree.Leaves()
	return w.site.Tree.Nodes[leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")]].ID
}

func (w *world) enqueue(t *rapid.T) {
	shape := rapid.IntRange(1, len(w.shapes)).Draw(t, "shape")
	e := entry.Enqueued{Task: rapid.Int64Range(1, 6).Draw(t, "task"), Share: w.leaf(t), Shape: int32(shape), Place: rapid.Int64Range(-2, 2).Draw(t, "place"),
		Low: w.nextID, Attempt: 1}
	e.User = []string{"ann", "bob", "cid"}[e.Task%3]
	if u := w.shapes[shape-1].User; u != "" {
		e.User, e.Task = u, int64(slices.Index([]string{"ann", "bob", "cid"}, u))+10
	}
	e.High = e.Low + rapid.Int64Range(0, 6).Draw(t, "more")
	w.nextID = e.High + 1 + rapid.Int64Range(0, 1).Draw(t, "gap")
	w.apply(t, e)
}

// jobsOf draws a task, and ids of which some may be jobs of it.
func (w *world) jobsOf(t *rapid.T) (task, low, high int64) {
	low = rapid.Int64Range(1, w.nextID).Draw(t, "low")
	if l, ok := w.leader.Lease(low); ok && rapid.IntRange(0, 3).Draw(t, "its task") > 0 {
		return l.Task, low, low + rapid.Int64Range(0, 10).Draw(t, "more")
	}
	return rapid.Int64Range(1, 12).Draw(t, "task"), low, low + rapid.Int64Range(0, 10).Draw(t, "more")
}

func (w *world) pause(t *rapid.T) {
	task, _, _ := w.jobsOf(t)
	w.apply(t, entry.Paused{Task: task})
}

func (w *world) resume(t *rapid.T) {
	paused := w.leader.aside.Tasks()
	if len(paused) > 0 {
		w.apply(t, entry.Resumed{Task: rapid.SampledFrom(paused).Draw(t, "task")})
	}
}

func (w *world) kill(t *rapid.T) {
	e := entry.Killed{Reason: "killed", GraceS: rapid.Int32Range(0, 3).Draw(t, "grace"), Idle: rapid.IntRange(0, 3).Draw(t, "idle") == 0}
	e.Task, e.Low, e.High = w.jobsOf(t)
	if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
		e.Low, e.High = 1, w.nextID
	}
	w.apply(t, e)
}

func (w *world) place(t *rapid.T) {
	e := entry.Placed{Place: rapid.Int64Range(-2, 2).Draw(t, "place")}
	e.Task, e.Low, e.High = w.jobsOf(t)
	w.apply(t, e)
}

func (w *world) move(t *rapid.T) {
	e := entry.Moved{Share: w.leaf(t), Place: rapid.Int64Range(-2, 2).Draw(t, "place"), Running: rapid.Bool().Draw(t, "running")}
	if rapid.Bool().Draw(t, "from") {
		e.From = w.leaf(t)
	}
	e.Task, e.Low, e.High = w.jobsOf(t)
	w.apply(t, e)
}

// waiting draws jobs that wait; ok is false if none does.
func (w *world) waiting(t *rapid.T) (e entry.Enqueued, ok bool) {
	for b := range w.leader.aside.Waiting.Buffers() {
		for r := range b.Ranges() {
			if ok && rapid.Bool().Draw(t, "other") {
				continue
			}
			user, _ := w.leader.aside.Waiting.User(r.Task)
			e, ok = entry.Enqueued{Task: r.Task, Share: b.Key().Share, Shape: b.Key().Shape, Place: r.Place, Low: r.Low, High: r.High, Attempt: r.Attempt, User: user}, true
		}
	}
	return e, ok
}

// comeBack makes jobs ready that wait, and jobs beside them that do not.
func (w *world) comeBack(t *rapid.T) {
	if e, ok := w.waiting(t); ok {
		e.High += rapid.Int64Range(0, 3).Draw(t, "beside")
		if rapid.IntRange(0, 3).Draw(t, "other shape") == 0 {
			e.Shape = int32(rapid.IntRange(1, 7).Draw(t, "shape"))
		}
		w.apply(t, e)
	}
}

func (w *world) close(t *rapid.T) {
	if e, ok := w.waiting(t); ok {
		w.apply(t, entry.Closed{Task: e.Task, Low: e.Low, High: e.High + 2})
	}
}

// owe, report and cap are what the leader, servers of resources and people say.
func (w *world) owe(t *rapid.T) {
	w.apply(t, entry.Owed{Pool: rapid.SampledFrom([]string{"main", "side"}).Draw(t, "pool"), Share: w.leaf(t), Units: shares.Units(rapid.IntRange(0, 3).Draw(t, "units")) * 1000})
}

func (w *world) report(t *rapid.T) {
	e := entry.Reported{Name: rapid.SampledFrom([]string{"licence", "disk"}).Draw(t, "name"), Queue: shares.QueueID(rapid.IntRange(0, 2).Draw(t, "queue")),
		Total: rapid.Int64Range(0, 4).Draw(t, "total"), Used: rapid.Int64Range(0, 4).Draw(t, "used"), At: start.Add(time.Duration(w.seconds) * time.Second)}
	e.Settled = rapid.Int64Range(0, e.Used).Draw(t, "settled")
	w.apply(t, e)
}

func (w *world) cap(t *rapid.T) {
	var e entry.Capped
	for range rapid.IntRange(0, 2).Draw(t, "n") {
		e.Capacities = append(e.Capacities, entry.Capacity{Name: rapid.SampledFrom([]string{"licence", "disk"}).Draw(t, "name"),
			Queue: shares.QueueID(rapid.IntRange(0, 2).Draw(t, "queue")), Units: rapid.Int64Range(0, 4).Draw(t, "units")})
	}
	w.apply(t, e)
}

func (w *world) hole(t *rapid.T) {
	w.apply(t, entry.Holed{Queue: shares.QueueID(rapid.IntRange(1, 3).Draw(t, "queue")), Is: rapid.Bool().Draw(t, "is"), ProbeS: rapid.Int32Range(0, 60).Draw(t, "probe")})
}

// verbs are what people and rules do.
func (w *world) verbs(to map[string]func(*rapid.T)) map[string]func(*rapid.T) {
	maps.Copy(to, map[string]func(*rapid.T){"pause": w.pause, "resume": w.resume, "kill": w.kill, "place": w.place, "move": w.move, "come back": w.comeBack, "close": w.close, "owe": w.owe})
	return to
}

func (w *world) expect(t *rapid.T) {
	w.apply(t, entry.Expected{Share: w.leaf(t), Shape: int32(rapid.IntRange(1, 7).Draw(t, "shape")), Jobs: rapid.Int64Range(0, 5).Draw(t, "jobs")})
}

func (w *world) tick(t *rapid.T) {
	w.seconds += rapid.IntRange(1, 40).Draw(t, "seconds")
	tick := entry.Tick{Now: start.Add(time.Duration(w.seconds) * time.Second)}
	if rapid.Bool().Draw(t, "offered") {
		tick.Offered = []entry.Offer{{Pool: "main", Units: 3000}}
	}
	w.apply(t, tick)
}

func (w *world) bound(t *rapid.T) {
	var b entry.Bounded
	for range rapid.IntRange(0, 3).Draw(t, "targets") {
		target := entry.Target{Queue: fmt.Sprintf("q%d", rapid.IntRange(0, 2).Draw(t, "queue")), Slots: rapid.IntRange(0, 5).Draw(t, "slots"),
			Floor: rapid.Bool().Draw(t, "floor"), Class: rapid.SampledFrom([]string{"", "", "MCORE"}).Draw(t, "class")}
		if rapid.Bool().Draw(t, "of a share") {
			target.Share = w.leaf(t)
		}
		if rapid.Bool().Draw(t, "ends") {
			target.Until = start.Add(time.Duration(w.seconds+30) * time.Second)
		}
		b.Targets = append(b.Targets, target)
	}
	w.apply(t, b)
}

// end ends one of the leases.
func (w *world) end(t *rapid.T) {
	var jobs []int64
	for l := range w.leader.Leases() {
		jobs = append(jobs, l.Job)
	}
	if len(jobs) == 0 {
		return
	}
	slices.Sort(jobs)
	l, _ := w.leader.Lease(jobs[rapid.IntRange(0, len(jobs)-1).Draw(t, "job")])
	e := entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over}
	switch rapid.IntRange(0, 4).Draw(t, "next") {
	case 0:
		e.Outcome, e.Next = entry.Failed, entry.Again
	case 1:
		e.Outcome, e.Next = entry.Failed, entry.Waits
	}
	e.Next = l.Becomes(e.Outcome, e.Next)
	w.apply(t, e)
}

// drawPull draws what a slot offers.
func (w *world) drawPull(t *rapid.T) Pull {
	p := Pull{Queue: shares.QueueID(rapid.IntRange(1, 3).Draw(t, "queue")), Most: rapid.IntRange(1, 3).Draw(t, "most"), Pilot: "p", Nonce: 1}
	p.Slot.Cores = rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(t, "cores")
	p.Slot.WalltimeS = rapid.SampledFrom([]int64{0, 0, 300, 1000}).Draw(t, "walltime")
	if rapid.IntRange(0, 5).Draw(t, "labels") == 0 {
		p.Slot.Labels = map[string]string{"os": rapid.SampledFrom([]string{"el9", "el8"}).Draw(t, "os")}
	}
	switch rapid.IntRange(0, 8).Draw(t, "only") {
	case 0:
		p.Only.Task = rapid.Int64Range(1, 12).Draw(t, "task")
	case 1:
		p.Only.User = rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user")
	case 2:
		p.Only.Labels = []string{"mc"}
	}
	return p
}

// Whoever decides and whoever follows have the same state.
func TestFollowersHaveTheSameState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		pull := func(t *rapid.T) {
			for _, e := range w.leader.Decide(w.drawPull(t)).Entries {
				if err := w.follower.Apply(e); err != nil {
					t.Fatalf("%#v: %v", e, err)
				}
				w.log = append(w.log, e)
			}
		}
		t.Repeat(w.verbs(map[string]func(*rapid.T){"enqueue": w.enqueue, "enqueue more": w.enqueue, "pull": pull, "pull again": pull, "end": w.end,
			"end more": w.end, "expect": w.expect, "tick": w.tick, "bound": w.bound, "adopt": w.adopt, "hole": w.hole,
			"stand": w.stand,
			"": func(t *rapid.T) {
				if w.leader.Digest() != w.follower.Digest() {
					t.Fatalf("the states differ after %d entries", len(w.log))
				}
			}}))
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
	})
}

// told is all that the digest is made of, by lines.
func (m *Machine) told() []string {
	var b strings.Builder
	m.write(&b, m.seq, m.id)
	return strings.Split(b.String(), "\n")
}

// restored is a machine made of a checkpoint, which has been through JSON, and what tables would have.
func (w *world) restored(t *rapid.T, c Checkpoint) *Machine {
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	c = Checkpoint{}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	var shapes []entry.Shaped
	for i, need := range w.shapes {
		shapes = append(shapes, entry.Shaped{Shape: int32(i + 1), Need: need})
	}
	r, err := Restore(Config{LocalWait: time.Minute}, c, w.site, shapes)
	if err != nil {
		t.Fatal(err)
	}
	for e, waits := range w.leader.Ranges() {
		take := r.Ready
		if waits {
			take = r.Waiting
		}
		err = errors.Join(err, take(e))
	}
	for l := range w.leader.Leases() {
		l.Home, l.Killed, l.Idle = 0, false, false // tables do not say
		err = errors.Join(err, r.Lease(l, w.leader.leases.Run(l.Job).Since()))
	}
	m, failed := r.Done()
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return m
}
