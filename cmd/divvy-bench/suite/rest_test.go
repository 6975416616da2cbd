package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
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
	on := func(share shares.ShareID, queue shares.QueueID, cores int64, units shares.Units) holding {
		return holding{ShareID: share, QueueID: queue, Cores: cores, Units: units * 1000}
	}
	// The queue without slots makes the default pool endless; without it C is 60 + 2 x 40.
	bounded := v
	bounded.Queues = v.Queues[:3]
	for name, c := range map[string]struct {
		v    shares.Version
		held []holding
		want string
	}{
		"all full":               {bounded, []holding{on(a, 1, 30, 30), on(b1, 1, 30, 30), on(b2, 2, 40, 80)}, ""},
		"a queue":                {v, []holding{on(b1, 1, 61, 61)}, "queue q0 holds 61, over its limit of 60"},
		"cores, not units":       {v, []holding{on(b1, 2, 40, 80)}, ""},
		"a share":                {v, []holding{on(a, 1, 20, 20), on(a, 4, 11, 11)}, "share A holds 31, over its limit of 30"},
		"a share in each pool":   {v, []holding{on(a, 1, 30, 30), on(a, 3, 10, 10)}, ""},
		"a pool":                 {bounded, []holding{on(b1, 1, 50, 101), on(b2, 2, 20, 40)}, "pool default holds 141, over its limit of 140"},
		"no limit":               {v, []holding{on(b1, 4, 5000, 5000)}, ""},
		"a queue that was there": {bounded, []holding{on(b1, 9, 5000, 5000)}, ""},
	} {
		wrong := overLimits(c.v, c.held)
		if c.want == "" && len(wrong) > 0 || c.want != "" && (len(wrong) != 1 || wrong[0].Error() != c.want) {
			t.Errorf("%s: %v, want %q", name, wrong, c.want)
		}
	}
}

func TestStanding(t *testing.T) {
	v := numbered(t, strings.Replace(small, "  - {name: open}\n", "", 1))
	v.Queues[1].CorePowerMilli = 1000
	a, b1, b2 := node(t, v, "A"), node(t, v, "B/B1"), node(t, v, "B/B2")
	held := []holding{{ShareID: a, QueueID: 1, Units: 30_000}, {ShareID: b1, QueueID: 1, Units: 30_000}, {ShareID: b1, QueueID: 2, Units: 25_000},
		{ShareID: b2, QueueID: 2, Units: 15_000}, {ShareID: b2, QueueID: 3, Units: 9_000}} // the last one is in another pool
	ready := map[shares.ShareID]shares.Units{a: 1e6, b1: 1e6, b2: 1e6}
	want := map[string]offNode{"A": {"A", 30, 30}, "B": {"B", 70, 70}, "B/B1": {"B/B1", 55, 52.5}, "B/B2": {"B/B2", 15, 17.5}}
	st := stand{version: v, pool: "default", held: held, wants: ready}
	got := st.nodes(capacityOf(v, "default"))
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for _, n := range got {
		if n != want[n.path] {
			t.Errorf("%+v, want %+v", n, want[n.path])
		}
	}
	// Nobody but B2 wants more: nothing is off by what the others do not want.
	st.held, st.wants = held[:3], map[shares.ShareID]shares.Units{b2: 1_000}
	got = st.nodes(capacityOf(v, "default"))
	for _, n := range got {
		if n.path == "B/B2" && (n.held != 0 || n.target != 1) || n.path == "B/B1" && n.off() != 0 {
			t.Errorf("%+v", n)
		}
	}
}

func TestGrowth(t *testing.T) {
	for ready, want := range map[int]Growth{
		1_000_000: {From: 1_000_000, FromHeld: 1000, Ready: 10_000_000, Held: 10_000, Tree: [3]int{10, 10, 10}, Daemons: 4, Full: 50_000, Polls: 10_000},
		100_000:   {From: 100_000, FromHeld: 1000, Ready: 1_000_000, Held: 10_000, Tree: [3]int{3, 10, 10}, Daemons: 4, Full: 5_000, Polls: 1_000, Rounds: 1},
	} {
		if got := GrowthOf(ready, 1000); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for name, p := range map[string]plan{"wide": Base().Growth.wide(), "full": Base().Growth.full()} {
		s, err := site.Parse(name, []byte(p.file()))
		if err != nil {
			t.Fatal(err)
		}
		limited := 0
		for _, n := range s.Tree.Nodes {
			if n.Plan.Max.IsSet() {
				limited++
			}
		}
		if n := p.tree[0] * p.tree[1] * p.tree[2]; len(leaves(s.Tree)) != n || limited != len(p.most) {
			t.Errorf("%s: %d leaves, %d with a limit", name, len(leaves(s.Tree)), limited)
		}
		for i, count := range divide(Base().Ready, leaves(s.Tree)) {
			if count < 40 {
				t.Errorf("%s: leaf %d gets %d jobs", name, i, count)
			}
		}
	}
}

func TestCPUIn(t *testing.T) {
	got, err := proc.CPUIn("4711 (a daemon (x)) S 1 2 3 4 5 6 7 8 9 10 150 75 0 0 20 0 9 0 100")
	if err != nil || got != 2250*time.Millisecond {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2", "1 (x) S 1 2 3 4 5 6 7 8 9 10 a 75 0"} {
		if got, err := proc.CPUIn(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
