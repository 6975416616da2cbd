package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

var morning = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// fail is what a test and a draw of a property have in common.
type fail interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// history is a machine that decides, and the log of what it did.
type history struct {
	leader  *machine.Machine
	log     *ledgertest.Memory
	sites   map[int64]shares.Version
	now     time.Time
	entries []entry.Entry
	asks    Asks
	seed    int64
	grants  int
	points  []*Checkpoint
	store   *Store
}

func newHistory(cfg machine.Config) *history {
	h := &history{leader: machine.New(cfg), sites: map[int64]shares.Version{}, now: morning}
	h.log = &ledgertest.Memory{Clock: func() time.Time { return h.now }}
	return h
}

// oneShare is a site with one share and queues of a pool.
func oneShare(t *testing.T, queues ...string) shares.Version {
	t.Helper()
	tree, err := shares.Build([]shares.Spec{{Name: "s", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	site := shares.Version{Number: 1, Tree: tree}
	for i, name := range queues {
		site.Queues = append(site.Queues, shares.Queue{ID: shares.QueueID(i + 1), Name: name, Pool: "p", State: shares.Online, CorePowerMilli: 1000, Cores: 8})
	}
	return site
}

// all counts entries.
func (h *history) all(t *testing.T, entries ...entry.Entry) {
	t.Helper()
	for _, e := range entries {
		if !h.apply(e) {
			t.Fatalf("%+v is refused", e)
		}
	}
}

// apply counts an entry; false when the machine refuses it.
func (h *history) apply(e entry.Entry) bool {
	if a, ok := e.(entry.Adopted); ok {
		h.sites[a.Number] = *a.Site
	}
	if h.leader.Apply(e) != nil {
		return false
	}
	h.entries = append(h.entries, e)
	return true
}

// pull decides a pull.
func (h *history) pull(p machine.Pull) machine.Decision {
	asked := []*machine.Pull{&p}
	for _, beside := range append(asked, p.Beside...) {
		h.seed++
		beside.Nonce, beside.Slot.WalltimeS = h.seed*7919, h.leader.Walltime(beside.Slot.WalltimeS)
	}
	asked = append(asked, p.Beside...)
	d := h.leader.Decide(p)
	for i, e := range d.Entries {
		if _, ok := e.(entry.Granted); ok {
			to := 0
			if d.To != nil {
				to = d.To[i]
			}
			h.asks.Note(*asked[to], 1)
			h.grants++
		}
	}
	h.entries = append(h.entries, d.Entries...)
	return d
}

// seal ends the batch.
func (h *history) seal() {
	seq, after := h.leader.Stand()
	if e, ok := h.asks.Entry(); ok {
		h.entries = append(h.entries, e)
	}
	b := entry.Batch{Seq: seq + 1, After: after, By: 7, Entries: h.entries}
	binary.BigEndian.PutUint64(b.ID[:], uint64(seq+1))
	if _, err := h.log.Append(context.Background(), b); err != nil {
		panic(err) // the log is in memory
	}
	h.leader.Reach(b.Seq, b.ID)
	h.entries, h.asks = nil, Asks{}
}

func (h *history) reader(cfg machine.Config) Reader {
	return Reader{Log: h.log, Store: h.store, Config: cfg, Version: func(_ context.Context, n int64) (shares.Version, error) {
		v, ok := h.sites[n]
		if !ok {
			return v, fmt.Errorf("no version %d", n)
		}
		return v, nil
	}}
}

// score replays all of it.
func (h *history) score(t fail, cfg machine.Config, site *shares.Version) score.Score {
	t.Helper()
	s, err := h.reader(cfg).Score(context.Background(), morning, h.now, site, 5)
	if err != nil {
		t.Fatalf("score: %v", err)
	}
	return s
}

// exact fails unless every grant was compared, or kept for others by resources or of a gang, and came out as it was.
func (h *history) exact(t fail, s score.Score) {
	t.Helper()
	left := s.Decisions - s.Compared
	for _, c := range s.NotComparable {
		if c.Reason == score.Kept || c.Reason == score.Gang {
			left -= c.Decisions
		}
	}
	if s.Decisions != int64(h.grants) || s.Differences != 0 || s.Drifts != 0 || left != 0 {
		t.Fatalf("%d grants: %d decisions, %d compared, %d differences, %d drifts, not compared %v, first %+v", h.grants, s.Decisions, s.Compared,
			s.Differences, s.Drifts, s.NotComparable, s.First)
	}
}

var shapes = []job.Requirements{{Cores: 1, WalltimeS: 600}, {Cores: 4}, {Cores: 1, MemoryMB: 8000}, {Cores: 2, Label: "mc"},
	{Cores: 1, Locations: []string{"disk"}, Locality: job.LocalityPreferred}, {Cores: 1, Labels: map[string]string{"os": "el9"}},
	{Cores: 1, User: "ann"}, {Cores: 1, User: "bob"}, {Cores: 2, User: "cid"}, {Cores: 1, Resources: map[string]int64{"licence": 1}},
	{Cores: 1, Resources: map[string]int64{"licence": 2, "disk": 1}, User: "ann"}, {Cores: 1, Resources: map[string]int64{"licence": 1}, User: "bob"}}

var worldConfig = machine.Config{LocalWait: time.Minute, Making: time.Second}

// world draws a history.
type world struct {
	*history
	site   shares.Version
	next   int64
	claims int64
}

func newWorld(t *rapid.T) *world {
	w := &world{history: newHistory(worldConfig), next: 1}
	w.apply(entry.Tick{Now: w.now})
	for i, need := range shapes {
		w.apply(entry.Shaped{Shape: int32(i + 1), Need: need})
	}
	for i := range 3 {
		w.apply(entry.Polled{Queue: shares.QueueID(i + 1), Is: true})
	}
	w.adopt(t)
	return w
}

func drawPlan(t *rapid.T) shares.Plan {
	p := shares.DefaultPlan()
	p.Weight = float64(rapid.IntRange(1, 5).Draw(t, "weight"))
	units := func(most int) shares.Units { return shares.Units(rapid.IntRange(0, most).Draw(t, "units")) * 1000 }
	oneIn := func(n int) bool { return rapid.IntRange(1, n).Draw(t, "dice") == n }
	if oneIn(4) {
		p.Max = shares.Of(units(12))
	}
	if oneIn(5) {
		p.Owned = shares.Of(units(6))
	}
	if oneIn(5) {
		u := units(4)
		p.Borrow.Any = &u
	}
	if oneIn(5) {
		p.HalfLife = shares.Duration(time.Minute)
	}
	if oneIn(4) {
		p.Within = shares.FairUser
	}
	return p
}

// drawSite draws a tree of some ten shares, and three queues in two pools.
func drawSite(t *rapid.T, number int64) (v shares.Version, ok bool) {
	var specs []shares.Spec
	for i := range rapid.IntRange(1, 3).Draw(t, "top") {
		s := shares.Spec{Name: fmt.Sprintf("s%d", i), Plan: drawPlan(t)}
		for k := range rapid.IntRange(0, 3).Draw(t, "below") {
			s.Children = append(s.Children, shares.Spec{Name: fmt.Sprintf("t%d", k), Plan: drawPlan(t)})
		}
		specs = append(specs, s)
	}
	tree, err := shares.Build(specs)
	if err != nil {
		return v, false
	}
	tree.SetIDs(func(path string) shares.ShareID {
		id := shares.ShareID(10 * (path[1] - '0' + 1))
		if len(path) > 2 {
			id += shares.ShareID(path[4]-'0') + 1
		}
		return id
	})
	licences := int64(rapid.IntRange(1, 4).Draw(t, "licences"))
	v = shares.Version{Number: number, Tree: tree, Resources: []shares.Resource{
		{Name: "licence", Capacity: licences, Split: shares.Split{By: shares.SplitByUser}, MaxBypass: 2, MaxHold: time.Minute},
		{Name: "disk", Capacity: 1, Split: shares.Split{By: shares.SplitByUser}, MaxBypass: 2, MaxHold: time.Minute}}}
	for i := range 3 {
		q := shares.Queue{ID: shares.QueueID(i + 1), Name: fmt.Sprintf("q%d", i), Pool: []string{"main", "main", "side"}[i], State: shares.Online,
			CorePowerMilli: rapid.SampledFrom([]int64{1000, 2000}).Draw(t, "power"), Cores: 8, MemoryMB: 16000}
		if rapid.IntRange(0, 3).Draw(t, "slots") > 0 {
			n := rapid.IntRange(1, 10).Draw(t, "n")
			q.Slots = &n
		}
		if i == 0 {
			q.Labels, q.Locations = map[string]string{"os": "el9"}, []string{"disk"}
		}
		if rapid.IntRange(0, 4).Draw(t, "prefer") == 0 {
			q.Prefer = "wide"
		}
		if rapid.IntRange(0, 4).Draw(t, "deny") == 0 {
			q.DenyShares = []string{"s0"}
		}
		v.Queues = append(v.Queues, q)
	}
	return v, true
}

func (w *world) adopt(t *rapid.T) {
	if w.site.Number > 0 && rapid.IntRange(0, 3).Draw(t, "stay") > 0 {
		return
	}
	v, ok := drawSite(t, w.site.Number+1)
	if !ok {
		t.Skip("not a tree")
	}
	w.site = v
	w.apply(entry.Adopted{Number: v.Number, Site: &v})
}

func (w *world) leaf(t *rapid.T) shares.ShareID {
	leaves := w.site.Tree.Leaves()
	return w.site.Tree.Nodes[leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")]].ID
}

func (w *world) enqueue(t *rapid.T) {
	shape := rapid.IntRange(1, len(shapes)).Draw(t, "shape")
	e := entry.Enqueued{Task: rapid.Int64Range(1, 6).Draw(t, "task"), Share: w.leaf(t), Shape: int32(shape), Place: rapid.Int64Range(-2, 2).Draw(t, "place"),
		Low: w.next, Attempt: 1}
	e.User = []string{"ann", "bob", "cid"}[e.Task%3]
	if u := shapes[shape-1].User; u != "" {
		e.User, e.Task = u, int64(slices.Index([]string{"ann", "bob", "cid"}, u))+10
	}
	e.High = e.Low + rapid.Int64Range(0, 20).Draw(t, "more")
	w.next = e.High + 1
	w.apply(e)
}

// claim makes a task whose jobs share a claim, or start together.
func (w *world) claim(t *rapid.T) {
	w.claims++
	n, template := rapid.Int64Range(1, 4).Draw(t, "jobs"), shares.ClaimTemplate{Name: "t", Linger: time.Minute, Gang: rapid.Bool().Draw(t, "gang")}
	if template.Node = rapid.Bool().Draw(t, "of a node"); !template.Node {
		template.Devices = map[string]int{"gpu": 1}
	}
	task := 100 + w.claims
	w.apply(entry.Claimed{Claim: w.claims, Task: task, Key: "k", Jobs: int(n), SharingID: "ann", Template: template})
	w.apply(entry.Joined{Task: task, Low: w.next, High: w.next + n - 1, Claims: []int64{w.claims}})
	w.apply(entry.Enqueued{Task: task, Share: w.leaf(t), Shape: 1, Low: w.next, High: w.next + n - 1, Attempt: 1, User: "ann"})
	w.next += n
}

func (w *world) end(t *rapid.T) {
	jobs := slices.Sorted(maps.Keys(maps.Collect(func(yield func(int64, bool) bool) {
		for l := range w.leader.Leases() {
			if !yield(l.Job, true) {
				return
			}
		}
	})))
	if len(jobs) == 0 {
		return
	}
	l, _ := w.leader.Lease(jobs[rapid.IntRange(0, len(jobs)-1).Draw(t, "job")])
	e := entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over}
	if e.Next = rapid.SampledFrom([]entry.Next{entry.Over, entry.Over, entry.Again, entry.Waits, entry.Undone}).Draw(t, "next"); l.Killed {
		e.Next = entry.Undone
	}
	w.apply(e)
}

// verb draws what people and rules want of jobs.
func (w *world) verb(t *rapid.T) {
	task, low := rapid.Int64Range(1, 12).Draw(t, "task"), rapid.Int64Range(1, w.next).Draw(t, "low")
	high := low + rapid.Int64Range(0, 10).Draw(t, "more")
	w.apply(rapid.SampledFrom([]entry.Entry{entry.Paused{Task: task}, entry.Resumed{Task: task}, entry.Resumed{Task: task}, entry.Placed{Task: task, Low: low, High: high, Place: 1},
		entry.Killed{Task: task, Low: low, High: high, Reason: "killed"}, entry.Killed{Task: task, Low: low, High: high, Reason: "killed", Idle: true},
		entry.Moved{Task: task, Low: low, High: high, Share: w.leaf(t), Place: -1}, entry.Moved{Task: task, Low: low, High: high, Share: w.leaf(t), Running: true},
		entry.Closed{Task: task, Low: low, High: high}}).Draw(t, "verb"))
}

// back has jobs come back that wait, the first that there are.
func (w *world) back(*rapid.T) {
	var first entry.Enqueued
	for e, waits := range w.leader.Ranges() {
		if waits && (first.Low == 0 || e.Low < first.Low) {
			first = e
		}
	}
	if first.Low > 0 {
		w.apply(first)
	}
}

func (w *world) expect(t *rapid.T) {
	w.apply(entry.Expected{Share: w.leaf(t), Shape: int32(rapid.IntRange(1, 6).Draw(t, "shape")), Jobs: rapid.Int64Range(0, 5).Draw(t, "jobs"),
		More: rapid.Bool().Draw(t, "more")})
}

func (w *world) bound(t *rapid.T) {
	var b entry.Bounded
	for range rapid.IntRange(0, 3).Draw(t, "targets") {
		target := entry.Target{Queue: fmt.Sprintf("q%d", rapid.IntRange(0, 2).Draw(t, "queue")), Slots: rapid.IntRange(0, 5).Draw(t, "slots"),
			Floor: rapid.Bool().Draw(t, "floor"), Class: rapid.SampledFrom([]string{"", "", "MCORE"}).Draw(t, "class")}
		if rapid.Bool().Draw(t, "of a share") {
			target.Share = w.leaf(t)
		}
		b.Targets = append(b.Targets, target)
	}
	w.apply(b)
}

// tick ends the batch and lets time pass.
func (w *world) tick(t *rapid.T) {
	w.seal()
	if rapid.IntRange(0, 3).Draw(t, "keep") == 0 {
		w.points = append(w.points, Take(w.leader, w.now))
	}
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
	w.apply(entry.Tick{Now: w.now})
}

func (w *world) drawPull(t *rapid.T) {
	p := machine.Pull{Queue: shares.QueueID(rapid.IntRange(1, 3).Draw(t, "queue")), Most: rapid.IntRange(0, 3).Draw(t, "most"), Pilot: "p"}
	p.Slot.Cores = rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(t, "cores")
	p.Slot.WalltimeS = rapid.SampledFrom([]int64{0, 0, 300, 1000, 1001}).Draw(t, "walltime")
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
	if p.Queue == 1 && rapid.Bool().Draw(t, "at a node") {
		p.Node, p.Devices = rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"), []string{"gpu:0", "gpu:1", "gpu:2"}
		for range rapid.IntRange(0, 2).Draw(t, "beside") {
			other := p
			other.Pilot, other.Beside = "beside", nil
			p.Beside = append(p.Beside, &other)
		}
	}
	p.At = w.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "clock")) * time.Second)
	p.Until = p.At.Add(time.Duration(rapid.IntRange(-20, 20).Draw(t, "wait")) * time.Second)
	w.pull(p)
}

// play draws what happens.
func (w *world) play(t *rapid.T, check func()) {
	t.Repeat(map[string]func(*rapid.T){"enqueue": w.enqueue, "enqueue more": w.enqueue, "pull": w.drawPull, "pull again": w.drawPull, "pull on": w.drawPull, "pull more": w.drawPull,
		"end": w.end, "end another": w.end, "claim": w.claim, "verb": w.verb, "back": w.back, "expect": w.expect, "tick": w.tick, "bound": w.bound, "adopt": w.adopt, "": func(*rapid.T) { check() }})
	w.seal()
}

// Decisions by the site that was in force come out as they were, from the beginning and from each checkpoint, and so do those of a rival with
// that site.
func TestReplayIsIdentical(t *testing.T) {
	t.Parallel()
	var grants, compared, many int64
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.play(t, func() {})
		s := w.score(t, worldConfig, nil)
		w.exact(t, s)
		grants, compared = grants+s.Decisions, compared+s.Compared
		for _, p := range w.points {
			many += w.exactFrom(t, p).Compared
		}
		if other, ok := drawSite(t, 99); ok {
			if s := w.score(t, worldConfig, &other); s.Decisions != int64(w.grants) {
				t.Fatalf("%d grants, by another site: %+v", w.grants, s)
			}
		}
		if s.Compared < s.Decisions || w.site.Number > 1 {
			return // the rival keeps to one site, and what is kept for others is not known
		}
		s = w.score(t, worldConfig, &w.site)
		if s.Decisions != int64(w.grants) || s.Differences != 0 {
			t.Fatalf("by the same site: %+v", s)
		}
		for _, d := range s.Shares {
			if d.Started != d.Starts || d.Recorded != d.Now {
				t.Fatalf("by the same site, which gives the same: %+v", d)
			}
		}
	})
	t.Logf("%d grants, %d compared, %d from checkpoints", grants, compared, many)
	if compared == 0 || compared+20 < grants*9/10 { // exact says which may be left out of each history; short runs have few
		t.Errorf("%d of %d grants are compared", compared, grants)
	}
}

// exactFrom replays what comes after a checkpoint that was packed.
func (w *world) exactFrom(t *rapid.T, p *Checkpoint) score.Score {
	t.Helper()
	packed, err := p.Pack()
	if err != nil {
		t.Fatalf("pack: %v", err)
	}
	if p, err = Unpack(packed); err != nil {
		t.Fatalf("unpack: %v", err)
	}
	m, err := p.Restore(worldConfig, w.sites[p.Machine.Version])
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	c := &Compare{Since: morning, Until: w.now, List: 5}
	if err := c.Begin(m, nil, nil); err != nil {
		t.Fatalf("begin: %v", err)
	}
	r := w.reader(worldConfig)
	if err := r.read(context.Background(), m, func(b entry.Batch) (bool, error) { return true, c.Play(b) }); err != nil {
		t.Fatalf("play: %v", err)
	}
	s := c.Score()
	if s.Differences != 0 || s.Drifts != 0 {
		t.Fatalf("from batch %d: %d differences, %d drifts of %d, first %+v", p.Machine.Seq, s.Differences, s.Drifts, s.Decisions, s.First)
	}
	return s
}
