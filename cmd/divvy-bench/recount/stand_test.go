package recount

import (
	"errors"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// small is a site of 100 slots in two queues and one of another pool.
const small = `
shares:
  - {name: A, weight: 1, max: 30}
  - name: B
    weight: 1
    children:
      - {name: B1, weight: 3}
      - {name: B2, weight: 1}
queues:
  - {name: q0, slots: 60}
  - {name: q1, slots: 40, core_power: 2}
  - {name: g0, slots: 10, pool: gpu}
  - {name: open}
`

// numbered is a site file as a version whose ids are its positions.
func numbered(t *testing.T, file string) shares.Version {
	t.Helper()
	s, err := site.Parse("small", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	next := shares.ShareID(0)
	s.Tree.SetIDs(func(string) shares.ShareID { next++; return next })
	v := shares.Version{Number: 1, Tree: s.Tree}
	for i, q := range s.Queues {
		q.ID = shares.QueueID(i + 1)
		v.Queues = append(v.Queues, q)
	}
	return v
}

func node(t *testing.T, v shares.Version, path string) shares.ShareID {
	t.Helper()
	for _, n := range v.Tree.Nodes {
		if n.Path == path {
			return n.ID
		}
	}
	t.Fatalf("no share %s", path)
	return 0
}

func TestOverLimits(t *testing.T) {
	v := numbered(t, small)
	a, b1, b2 := node(t, v, "A"), node(t, v, "B/B1"), node(t, v, "B/B2")
	on := func(share shares.ShareID, queue shares.QueueID, cores int64, units shares.Units) Holding {
		return Holding{ShareID: share, QueueID: queue, Cores: cores, Units: units * 1000}
	}
	// The queue without slots makes the default pool endless; without it C is 60 + 2 x 40.
	bounded := v
	bounded.Queues = v.Queues[:3]
	for name, c := range map[string]struct {
		v    shares.Version
		held []Holding
		want string
	}{
		"all full":               {bounded, []Holding{on(a, 1, 30, 30), on(b1, 1, 30, 30), on(b2, 2, 40, 80)}, ""},
		"a queue":                {v, []Holding{on(b1, 1, 61, 61)}, "queue q0 holds 61, over its limit of 60"},
		"cores, not units":       {v, []Holding{on(b1, 2, 40, 80)}, ""},
		"a share":                {v, []Holding{on(a, 1, 20, 20), on(a, 4, 11, 11)}, "share A holds 31, over its limit of 30"},
		"a share in each pool":   {v, []Holding{on(a, 1, 30, 30), on(a, 3, 10, 10)}, ""},
		"a pool":                 {bounded, []Holding{on(b1, 1, 50, 101), on(b2, 2, 20, 40)}, "pool default holds 141, over its limit of 140"},
		"no limit":               {v, []Holding{on(b1, 4, 5000, 5000)}, ""},
		"a queue that was there": {bounded, []Holding{on(b1, 9, 5000, 5000)}, ""},
	} {
		wrong := OverLimits(c.v, c.held)
		if c.want == "" && len(wrong) > 0 || c.want != "" && (len(wrong) != 1 || wrong[0].Error() != c.want) {
			t.Errorf("%s: %v, want %q", name, wrong, c.want)
		}
	}
}

func TestStanding(t *testing.T) {
	v := numbered(t, strings.Replace(small, "  - {name: open}\n", "", 1))
	v.Queues[1].CorePowerMilli = 1000
	a, b1, b2 := node(t, v, "A"), node(t, v, "B/B1"), node(t, v, "B/B2")
	held := []Holding{{ShareID: a, QueueID: 1, Units: 30_000}, {ShareID: b1, QueueID: 1, Units: 30_000}, {ShareID: b1, QueueID: 2, Units: 25_000},
		{ShareID: b2, QueueID: 2, Units: 15_000}, {ShareID: b2, QueueID: 3, Units: 9_000}} // the last one is in another pool
	ready := map[shares.ShareID]shares.Units{a: 1e6, b1: 1e6, b2: 1e6}
	want := map[string]Node{"A": {"A", 30, 30}, "B": {"B", 70, 70}, "B/B1": {"B/B1", 55, 52.5}, "B/B2": {"B/B2", 15, 17.5}}
	st := Stand{Site: v, pool: "default", Held: held, wants: ready}
	got := st.Nodes(capacityOf(v, "default"))
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for _, n := range got {
		if n != want[n.Path] {
			t.Errorf("%+v, want %+v", n, want[n.Path])
		}
	}
	// Nobody but B2 wants more: nothing is off by what the others do not want.
	st.Held, st.wants = held[:3], map[shares.ShareID]shares.Units{b2: 1_000}
	got = st.Nodes(capacityOf(v, "default"))
	for _, n := range got {
		if n.Path == "B/B2" && (n.Held != 0 || n.Target != 1) || n.Path == "B/B1" && n.Off() != 0 {
			t.Errorf("%+v", n)
		}
	}
}

func TestOnceAndTally(t *testing.T) {
	var b Once
	for _, job := range []int64{0, 63, 64, 1_000_000, 65} {
		if err := b.Add(job); err != nil {
			t.Error(err)
		}
	}
	if b.Add(64) == nil || b.Add(-1) == nil {
		t.Error("a job was claimed twice, or has no id")
	}
	good := Tally{Made: 10, Rows: 11, Coming: 1, Live: 7, Held: 3, Ended: 3}
	if wrong := good.problems(3, 1); len(wrong) != 0 {
		t.Error(wrong)
	}
	for i, change := range []func(*Tally){func(t *Tally) { t.Live-- }, func(t *Tally) { t.Held++ }, func(t *Tally) { t.Rows++ }, func(t *Tally) { t.Coming = 0 },
		func(t *Tally) { t.EndedTwice = 1 }, func(t *Tally) { t.Both = 1 }, func(t *Tally) { t.Orphans = 1 }, func(t *Tally) { t.Stray = 1 }} {
		bad := good
		change(&bad)
		if wrong := bad.problems(3, 1); len(wrong) != 1 {
			t.Errorf("%d: %v", i, wrong)
		}
	}
	if text := Failed(errors.New("a"), errors.New("b")).Error(); !strings.Contains(text, "no figures") {
		t.Error(text)
	}
}
