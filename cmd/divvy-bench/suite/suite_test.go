package suite

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const pgbenchSays = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: /tmp/claim.sql
scaling factor: 1
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 1
duration: 5 s
number of transactions actually processed: 52013
number of failed transactions: 0 (0.000%)
latency average = 0.768 ms
initial connection time = 12.111 ms
tps = 10412.345678 (without initial connection time)
`

func TestParsePgbench(t *testing.T) {
	r, err := parsePgbench(pgbenchSays)
	if err != nil || r.transactions != 52013 || r.tps != 10412.345678 {
		t.Fatalf("%+v %v", r, err)
	}
	for name, out := range map[string]string{
		"nothing":      "",
		"failures":     strings.Replace(pgbenchSays, "failed transactions: 0", "failed transactions: 3", 1),
		"no rate":      strings.Replace(pgbenchSays, "tps = ", "tips = ", 1),
		"old rate":     strings.Replace(pgbenchSays, "without initial", "including", 1),
		"not a number": strings.Replace(pgbenchSays, "10412.345678", "1.2.3", 1),
	} {
		if _, err := parsePgbench(out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// A round of no transactions ends with their number, and without a rate.
	none, _, _ := strings.Cut(strings.Replace(pgbenchSays, "52013", "0", 1), "latency")
	_, err = parsePgbench(none)
	if why := (*figure.Unmeasured)(nil); !errors.As(err, &why) {
		t.Errorf("no work: %v", err)
	}
	for found, want := range map[int64]float64{52013: r.tps, 51999: r.tps * 51999 / 52013, 51000: 0, 52014: 0, 0: 0} {
		got, err := r.claims(found)
		if (err != nil) != (want == 0) || math.Abs(got-want) > 1e-6 {
			t.Errorf("%d found: %v %v, want %v", found, got, err, want)
		}
	}
}

func TestChoose(t *testing.T) {
	all, err := choose(nil)
	if err != nil || !all["S1"] || !all["S10"] {
		t.Errorf("%v %v", all, err)
	}
	for _, m := range Measurements() {
		if !all[m.ID] {
			t.Errorf("%s is not chosen", m.ID)
		}
		if _, err := choose([]string{m.ID}); err != nil {
			t.Errorf("%s alone: %v", m.ID, err)
		}
	}
	some, err := choose([]string{"s1", " S4"})
	if err != nil || len(some) != 2 || !some.any("S2", "S4") || some.any("S2", "S8") {
		t.Errorf("%v %v", some, err)
	}
	if _, err := choose([]string{"S13"}); err == nil {
		t.Error("S13 exists")
	}
}

// What is compared with what in S5 and S9, and which of the data sets is that of the run.
func TestSides(t *testing.T) {
	small := Quick()
	small.Ready = 5000
	small.Growth = GrowthOf(small.Ready, small.Held)
	for name, c := range map[string]struct {
		sizes Sizes
		mine  string // names of the sides on the data set of the run
	}{
		"full":                     {Base(), "base"},
		"quick":                    {Quick(), "1M ready and 100k held"},
		"quick, with a small base": {small, "base"},
	} {
		r := runOn(c.sizes, nil, nil)
		sides := r.sides()
		var mine []string
		for _, of := range sides {
			if of.at == r.Stage {
				mine = append(mine, of.name)
			}
		}
		if got := strings.Join(mine, ", "); got != c.mine {
			t.Errorf("%s: %q, want %q", name, got, c.mine)
		}
		base, large, held, wide := sides[0], sides[1], sides[2], sides[3]
		if large.ready != 10*base.ready || held.held != 10*base.held || held.ready != base.ready || wide.ready != base.ready || wide.plan.Queues <= base.plan.Queues {
			t.Errorf("%s: %+v %+v %+v %+v", name, base, large, held, wide)
		}
	}
}

// Every measurement is in a run once, whatever shares its rounds; S6 is the last.
func TestSteps(t *testing.T) {
	for name, sizes := range map[string]Sizes{"full": Base(), "quick": Quick()} {
		steps := steps(sizes.Brief)
		n := map[string]int{}
		for _, step := range steps {
			for _, id := range step.ids {
				n[id]++
			}
		}
		for _, m := range Measurements() {
			if n[m.ID] != 1 {
				t.Errorf("%s: %s %d times", name, m.ID, n[m.ID])
			}
		}
		if last := steps[len(steps)-1]; last.ids[0] != "S6" {
			t.Errorf("%s: the last is %v", name, last.ids)
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
	for name, p := range map[string]stage.Plan{"wide": Base().Growth.wide(), "full": Base().Growth.full()} {
		s, err := site.Parse(name, []byte(p.File()))
		if err != nil {
			t.Fatal(err)
		}
		limited := 0
		for _, n := range s.Tree.Nodes {
			if n.Plan.Max.IsSet() {
				limited++
			}
		}
		if len(stage.Leaves(s.Tree)) != p.Shares() || limited != len(p.Most) {
			t.Errorf("%s: %d leaves, %d with a limit", name, len(stage.Leaves(s.Tree)), limited)
		}
		for i, task := range stage.Tasks(Base().Ready, stage.Leaves(s.Tree)) {
			if task.Spec.Count < 10 {
				t.Errorf("%s: task %d has %d jobs", name, i, task.Spec.Count)
			}
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{1_000_000: "1M", 20_000: "20k", 77: "77"} {
		if got := count(n); got != want {
			t.Errorf("count %d: %s", n, got)
		}
	}
}
