package machine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// readyJobs are the first and the last jobs of every range.
func (w *world) readyJobs() (list []Question) {
	for b := range w.leader.ready.Buffers() {
		if w.leader.buffers[b.Key()].leaf < 0 {
			continue
		}
		for r := range b.Ranges() {
			user, _ := w.leader.ready.User(r.Task)
			list = append(list, Question{Share: b.Key().Share, Shape: b.Key().Shape, User: user, Place: r.Place, Job: r.Low})
			if r.High > r.Low {
				list = append(list, Question{Share: b.Key().Share, Shape: b.Key().Shape, User: user, Place: r.Place, Job: r.High})
			}
		}
	}
	return list
}

// asked is a pull as large as the queue allows of which a job is asked, and the job that the machine gave; 0: none.
func (w *world) asked(t *rapid.T, q *Question) (a Answer, given int64, pull Pull) {
	id := shares.QueueID(rapid.IntRange(1, 3).Draw(t, "queue"))
	q.Queues = []shares.QueueID{1, 2, 3}
	q.Ahead = 3
	w.apply(t, entry.Polled{Queue: id, Is: true}) // whoever leads says so before the pull
	answers := w.leader.View().Ask(*q)
	a = answers[id-1]
	pull = Pull{Queue: id, Slot: a.Slot, Most: 1, Pilot: "p", Nonce: 1, Until: w.leader.now}
	q.Queues = q.Queues[id-1 : id]
	if alone := w.leader.View().Ask(*q); !cmp.Equal(alone[0], a) {
		t.Fatalf("asked beside others: %s", cmp.Diff(alone[0], a))
	}
	d := w.leader.Decide(pull)
	for _, e := range d.Entries {
		given = e.(entry.Granted).Job
		if err := w.follower.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return a, given, pull
}

// What an answer says of a job is what a decision does, for those that it says are next and for those that it says are not; and
// a machine that is asked decides as one that is not.
func TestAnswersAreDecisions(t *testing.T) {
	said := map[string]int{}
	for name, scarce := range map[string]bool{"plain": false, "scarce": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { answersAreDecisions(t, scarce, said) })
		})
	}
	t.Log(said)
	for _, what := range []string{"none", "share", "priority", "queue", "share max", "structural"} { // others are rare: TestGates has them all
		if said[what] == 0 {
			t.Errorf("no draw came to %q", what)
		}
	}
}

func answersAreDecisions(t *rapid.T, scarce bool, said map[string]int) {
	w := newWorldOf(t, Config{LocalWait: time.Minute, Making: time.Duration(rapid.IntRange(0, 1).Draw(t, "making")) * 5 * time.Second}, scarce)
	twin := New(w.leader.settings)
	told := 0
	follow := func() {
		for ; told < len(w.log); told++ {
			if err := twin.Apply(w.log[told]); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(t *rapid.T) {
		all := w.readyJobs()
		if len(all) == 0 {
			return
		}
		q := rapid.SampledFrom(all).Draw(t, "question")
		before := w.leader.Digest()
		for _, other := range all { // asking changes nothing
			other.Queues = []shares.QueueID{1, 2, 3}
			w.leader.View().Ask(other)
		}
		if w.leader.Digest() != before {
			t.Fatal("asking has changed the state")
		}
		a, given, pull := w.asked(t, &q)
		follow()
		if d := twin.Decide(pull); len(d.Entries) != min(1, int(given)) || given != 0 && d.Entries[0].(entry.Granted).Job != given {
			t.Fatalf("pull %+v: job %d after it was asked, %+v of a machine that was not", pull, given, d)
		}
		switch {
		case len(a.Refusals) == 0 && a.Turn == TurnNone && given != q.Job:
			t.Fatalf("%+v is said to be next, the pull got %d: %+v", q, given, a)
		case (len(a.Refusals) > 0 || a.Turn != TurnNone) && given == q.Job:
			t.Fatalf("%+v was given, it was said to wait: %+v", q, a)
		case len(a.Refusals) == 0 && a.First.Job != given:
			t.Fatalf("%d is said to be next, the pull got %d: %+v", a.First.Job, given, a)
		}
		said[a.Rule]++
		if said[string(a.Turn)]++; len(a.Refusals) > 0 {
			name := string(a.Refusals[0].Gate)
			if name == string(gate.Max) {
				name = "share max"
			}
			said[name]++
		}
	}
	pull := func(t *rapid.T) {
		p := w.drawPull(t)
		w.apply(t, entry.Polled{Queue: p.Queue, Is: true})
		follow()
		p.Until = w.leader.now
		d := w.leader.Decide(p)
		if its := twin.Decide(p); !cmp.Equal(its.Entries, d.Entries) {
			t.Fatalf("pull %+v: %+v, %+v of a machine that was never asked", p, d, its)
		}
		for _, e := range d.Entries {
			if err := w.follower.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Repeat(map[string]func(*rapid.T){"enqueue": w.enqueue, "enqueue more": w.enqueue, "ask": ask, "ask again": ask, "ask more": ask, "pull": pull, "end": w.end,
		"kill": w.kill, "owe": w.owe, "report": w.report, "cap": w.cap, "expect": w.expect, "tick": w.tick, "bound": w.bound,
		"adopt": func(t *rapid.T) { w.adoptScarce(t, scarce) },
		"poll": func(t *rapid.T) {
			w.apply(t, entry.Polled{Queue: shares.QueueID(rapid.IntRange(1, 3).Draw(t, "queue")), Is: rapid.Bool().Draw(t, "is")})
		}})
}

// newWorldOf is newWorld for a configuration, with shapes that ask for resources where there are some.
func newWorldOf(t *rapid.T, c Config, scarce bool) *world {
	w := newWorld(t)
	w.leader, w.follower, w.log = New(c), New(c), nil
	if scarce {
		w.shapes = append(w.shapes, job.Requirements{Cores: 1, Resources: map[string]int64{"licence": 1}, SharingID: "ann"},
			job.Requirements{Cores: 1, Resources: map[string]int64{"licence": 2, "disk": 1}, SharingID: "bob"},
			job.Requirements{Cores: 1, Resources: map[string]int64{"disk": 1}, SharingID: "ann"},
			job.Requirements{Cores: 2, Resources: map[string]int64{"licence": 1}, SharingID: "cid", User: "cid"})
	}
	w.apply(t, entry.Tick{Now: start})
	for i, need := range w.shapes {
		w.apply(t, entry.Shaped{Shape: int32(i + 1), Need: need})
	}
	for q := range 3 {
		w.apply(t, entry.Polled{Queue: shares.QueueID(q + 1), Is: true})
	}
	w.adoptScarce(t, scarce)
	return w
}

func (w *world) adoptScarce(t *rapid.T, scarce bool) {
	w.adopt(t)
	if !scarce {
		return
	}
	v := w.site
	licence, disk := shares.DefaultResource(), shares.DefaultResource()
	licence.Name, licence.Capacity = "licence", int64(rapid.IntRange(1, 4).Draw(t, "licences"))
	disk.Name, disk.Capacity = "disk", int64(rapid.IntRange(1, 3).Draw(t, "disks"))
	disk.PerQueue = rapid.Bool().Draw(t, "per queue")
	if rapid.Bool().Draw(t, "by share") {
		licence.Split.By = shares.SplitByShare
	}
	v.Number, v.Resources = v.Number+1, []shares.Resource{licence, disk}
	w.site = v
	w.apply(t, entry.Adopted{Number: v.Number, Site: &v})
}

// An answer names what comes before the job, in the order in which pulls would get it.
func TestAheadIsTheOrderOfPulls(t *testing.T) {
	t.Parallel()
	m, _ := stocked(t, siteOf(40, 1), 200_000, 0)
	tree := m.Site().Tree
	leaf := tree.Leaves()[7]
	q := Question{Share: tree.Nodes[leaf].ID, Shape: 1, Job: 1 << 40, Queues: []shares.QueueID{1}, Ahead: 100}
	a := m.View().Ask(q)[0]
	if a.Turn != TurnShare || len(a.Before) == 0 || a.Before[0] != a.First.Leaf || slices.Contains(a.Before, leaf) {
		t.Fatalf("%+v", a)
	}
	if n := len(a.Trail); n != 3 || len(a.OwnTrail) != 3 || a.Deficit < a.Own {
		t.Errorf("%+v", a)
	}
	got := m.Decide(Pull{Queue: 1, Slot: a.Slot, Most: 1})
	if g := got.Entries[0].(entry.Granted); g.Share != tree.Nodes[a.First.Leaf].ID || g.Job != a.First.Job {
		t.Errorf("%+v, the answer was %+v", g, a.First)
	}
}

// A question costs a walk down the tree and a look at the leaves.
func BenchmarkAsk(b *testing.B) {
	for _, c := range []struct{ leaves, queues int }{{100, 20}, {1000, 100}} {
		m, _ := stocked(b, siteOf(c.leaves, c.queues), 1_000_000, 100_000)
		tree := m.Site().Tree
		leaves := tree.Leaves()
		for _, many := range []int{1, c.queues} {
			b.Run(fmt.Sprintf("%d leaves %d of %d queues", c.leaves, many, c.queues), func(b *testing.B) {
				var ids []shares.QueueID
				for i := range many {
					ids = append(ids, shares.QueueID(i+1))
				}
				n := 0
				for b.Loop() {
					n++
					if len(m.View().Ask(Question{Share: tree.Nodes[leaves[n%len(leaves)]].ID, Shape: 1, Job: 1 << 40, Queues: ids})) != many {
						b.Fatal("no answer")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*many), "µs/queue")
			})
		}
	}
}
