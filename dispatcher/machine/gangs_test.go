package machine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gangNodes are the slots of each node, by cores.
var gangNodes = map[string][]int{"n1": {1, 1, 1, 1}, "n2": {4, 2}, "n3": {8}}

// gangTask makes a task of a gang, which may have claims of its jobs beside that of all.
func (w *world) gangTask(units bool) func(t *rapid.T) {
	return func(t *rapid.T) {
		c, n := w.claims, rapid.Int64Range(1, 5).Draw(t, "members")
		c.next++
		task, gang := 100+c.next, c.next
		template := shares.ClaimTemplate{Name: "gang", Gang: true, Node: true, Linger: time.Minute}
		if rapid.Bool().Draw(t, "devices") {
			template.Node, template.Devices = false, map[string]int{"gpu": rapid.IntRange(1, 2).Draw(t, "gpus")}
		}
		if units && rapid.Bool().Draw(t, "units") {
			template.Resources = map[string]int64{"licence": 2}
		}
		w.apply(t, entry.Claimed{Claim: gang, Task: task, Key: "gang", Jobs: int(n), SharingID: "ann", Template: template})
		share := w.leaf(t)
		for range n {
			id, own := w.nextID, []int64{gang}
			w.nextID++
			if rapid.IntRange(0, 3).Draw(t, "own") == 0 {
				c.next++
				w.apply(t, entry.Claimed{Claim: c.next, Task: task, Key: "own", Jobs: 1, Template: shares.ClaimTemplate{Name: "own", Devices: map[string]int{"gpu": 1}}})
				own = append(own, c.next)
				c.claims[c.next] = []int64{id}
			}
			w.apply(t, entry.Joined{Task: task, Low: id, High: id, Claims: own})
			w.apply(t, entry.Enqueued{Task: task, Share: share, Shape: rapid.SampledFrom([]int32{1, 1, 11}).Draw(t, "shape"), Low: id, High: id, Attempt: 1, User: "ann"})
			c.claims[gang] = append(c.claims[gang], id)
			c.jobs[id], c.ready[id] = task, true
		}
	}
}

// drawNode draws the pulls of all slots of a node.
func (w *world) drawNode(t *rapid.T) Pull {
	node := rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "node")
	var pulls []*Pull
	for i, cores := range gangNodes[node] {
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "away") == 0 {
			continue
		}
		p := &Pull{Queue: 1, Node: node, Devices: devicesOf, Slot: job.Slot{Cores: cores}, Most: rapid.IntRange(1, 8).Draw(t, "most"), Pilot: fmt.Sprint(node, i), Nonce: int64(i)}
		p.At = start.Add(time.Duration(w.seconds) * time.Second)
		pulls = append(pulls, p)
	}
	pulls[0].Beside = pulls[1:]
	return *pulls[0]
}

// together says that whoever starts while nobody of its gang runs starts with all that are left of it, on one node.
func (w *world) together(t *rapid.T, p Pull) {
	ran := map[int64]int{}
	for id := range w.claims.next + 1 {
		if c, ok := w.leader.claims.Claim(id); ok && c.Template.Gang {
			ran[id] = c.Sharers
		}
	}
	d := w.decide(t, p)
	if len(d.To) != len(d.Entries) && len(p.Beside) > 0 && len(d.Entries) > 0 {
		t.Fatalf("%d entries, of %d pulls", len(d.Entries), len(d.To))
	}
	begun := map[int64]int{}
	room := map[int]int{}
	for i, e := range d.Entries {
		g, ok := e.(entry.Granted)
		if !ok {
			continue
		}
		for _, id := range w.leader.claims.HeldBy(g.Job) {
			begun[id]++
		}
		to := 0
		if d.To != nil {
			to = d.To[i]
		}
		room[to] += w.leader.words.shapes[g.Shape].Need.Cores
		of := &p
		if to > 0 {
			of = p.Beside[to-1]
		}
		if g.Pilot != of.Pilot || room[to] > of.Slot.Cores {
			t.Fatalf("%+v: pull %d of %d cores has %d", g, to, of.Slot.Cores, room[to])
		}
	}
	for id, n := range begun {
		c, _ := w.leader.claims.Claim(id)
		if before, gang := ran[id]; gang && before == 0 && n != c.Jobs {
			t.Fatalf("%d of %d jobs of gang %d have started", n, c.Jobs, id)
		}
	}
	if d.Verdict == Held && (d.Until.IsZero() || d.Until.Sub(p.At) > resource.DefaultGangHold) {
		t.Fatalf("held until %s at %s", d.Until, p.At)
	}
	for _, e := range d.Entries {
		if g, ok := e.(entry.Granted); ok && d.Verdict == None && g.Pilot == p.Pilot {
			t.Fatal("the pull was granted a job and is told that there is none")
		}
	}
}

// Whatever happens, no gang starts in part, and all jobs can run in the end.
func TestGangWorld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newClaimWorld(t, true)
		w.apply(t, entry.Shaped{Shape: 11, Need: job.Requirements{Cores: 2}})
		w.easy = rapid.Bool().Draw(t, "easy")
		w.adopt(t)
		submit := w.gangTask(true)
		submit(t)
		pull := func(t *rapid.T) { w.together(t, w.drawNode(t)) }
		t.Repeat(map[string]func(*rapid.T){"submit": submit, "claims": w.claimTask(true), "enqueue": w.enqueue, "pull": pull, "pull again": pull, "pull more": pull,
			"ends": w.ends, "end": w.ends, "end more": w.ends, "cancel": w.cancel, "scale away": w.scaleAway, "tick": w.tick, "adopt": w.adopt,
			"": func(t *rapid.T) {
				if w.leader.Digest() != w.follower.Digest() {
					t.Fatalf("the states differ after %d entries", len(w.log))
				}
				w.check(t)
			}})
		w.drain(t)
	})
}

// gangOf is a machine with one queue where a gang of so many jobs of a core waits, and a plain job behind it.
func gangOf(t *testing.T, members int64) *Machine {
	t.Helper()
	m := New(Config{})
	v := siteOf(20, 1)
	leaf := v.Tree.Nodes[v.Tree.Leaves()[0]].ID
	for _, e := range []entry.Entry{entry.Tick{Now: start}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}}, entry.Adopted{Number: 1, Site: &v},
		entry.Claimed{Claim: 1, Task: 1, Key: "gang", Jobs: int(members), Template: shares.ClaimTemplate{Name: "gang", Node: true, Gang: true}},
		entry.Joined{Task: 1, Low: 1, High: members, Claims: []int64{1}}, entry.Enqueued{Task: 1, Share: leaf, Shape: 1, Low: 1, High: members, Attempt: 1},
		entry.Enqueued{Task: 2, Share: leaf, Shape: 1, Low: 100, High: 199, Attempt: 1}} {
		if err := m.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func corePull(pilot string, at time.Duration) *Pull {
	return &Pull{Queue: 1, Node: "n1", Slot: job.Slot{Cores: 1}, Most: 1, Pilot: pilot, At: start.Add(at)}
}

// A gang starts in all pulls of its node; slots that are too few wait for the others, for as long as a hold may be, and are then for anybody.
func TestGangHoldsSlots(t *testing.T) {
	t.Parallel()
	m := gangOf(t, 2)
	one, two := corePull("p1", 0), corePull("p2", 0)
	if d := m.Decide(*one); d.Verdict != Given || d.Entries[0].(entry.Granted).Job != 100 {
		t.Fatalf("the node is not known to have two slots: %+v", d)
	}
	one.At = start.Add(time.Second)
	held := m.Decide(*two) // the other slot is busy: both would do
	if held.Verdict != Held || held.Lacked.Gate != gate.GangHold || !held.Until.Equal(start.Add(time.Minute)) {
		t.Fatalf("%+v", held)
	}
	two.At = start.Add(90 * time.Second)
	if d := m.Decide(*two); d.Verdict != Given || d.Entries[0].(entry.Granted).Job != 101 {
		t.Fatalf("after its time the slot is for others: %+v", d)
	}
	for _, id := range []int64{100, 101} {
		if err := m.Apply(entry.Ended{Job: id, Attempt: 1, Outcome: entry.Finished, Next: entry.Over}); err != nil {
			t.Fatal(err)
		}
	}
	one.Beside = []*Pull{two}
	d := m.Decide(*one)
	var jobs []int64
	for _, e := range d.Entries {
		jobs = append(jobs, e.(entry.Granted).Job)
	}
	if !slices.Equal(jobs, []int64{1, 2}) || !slices.Equal(d.To, []int{0, 1}) || d.Verdict != Given {
		t.Fatalf("%+v", d)
	}
}

// Looking at a gang takes its leaf out of the contenders where resources keep all back that any node could run. What claims have bound to the node
// of the pull is there all the same, and comes before the gang.
func TestGangsHideNoGuests(t *testing.T) {
	t.Parallel()
	m := New(Config{})
	tree, err := shares.Build([]shares.Spec{{Name: "s", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	v := &shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{{ID: 1, Name: "q", Pool: "p", State: shares.Online, CorePowerMilli: 1000, Cores: 8}},
		Resources: []shares.Resource{{Name: "licence", Capacity: 1, Split: shares.Split{By: shares.SplitByUser}, MaxBypass: 10, MaxHold: time.Minute}}}
	follow := func(entries ...entry.Entry) {
		t.Helper()
		for _, e := range entries {
			if err := m.Apply(e); err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
		}
	}
	pull := func(want int64) {
		t.Helper()
		d := m.Decide(Pull{Queue: 1, Node: "n1", Slot: job.Slot{Cores: 1}, Most: 1, Pilot: "p", Nonce: 1})
		if d.Verdict != Given || d.Entries[0].(entry.Granted).Job != want {
			t.Fatalf("verdict %v, %+v, want job %d", d.Verdict, d.Entries, want)
		}
	}
	enqueued := func(low, high, place int64, shape int32) entry.Enqueued {
		return entry.Enqueued{Task: low, Share: 1, Shape: shape, Place: place, Low: low, High: high, Attempt: 1, User: "ann"}
	}
	follow(entry.Adopted{Number: 1, Site: v}, entry.Tick{Now: start}, entry.Polled{Queue: 1, Is: true}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}},
		entry.Shaped{Shape: 2, Need: job.Requirements{Cores: 1, Resources: map[string]int64{"licence": 1}, SharingID: "ann"}},
		enqueued(1, 1, 0, 2))
	pull(1) // it has the licence
	follow(entry.Claimed{Claim: 1, Task: 2, Key: "node", Jobs: 2, Template: shares.ClaimTemplate{Name: "node", Node: true, Linger: time.Hour}},
		entry.Joined{Task: 2, Low: 2, High: 3, Claims: []int64{1}}, enqueued(2, 3, 1, 1))
	pull(2) // the claim is at the node
	follow(entry.Claimed{Claim: 2, Task: 5, Key: "gang", Jobs: 2, Template: shares.ClaimTemplate{Name: "gang", Node: true, Gang: true}},
		entry.Joined{Task: 5, Low: 5, High: 6, Claims: []int64{2}}, enqueued(5, 6, 2, 1), enqueued(7, 7, 0, 2))
	pull(3)
}
