package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// share is a Spec of weight w.
func share(name string, w float64, children ...shares.Spec) shares.Spec {
	p := shares.DefaultPlan()
	p.Weight = w
	return shares.Spec{Name: name, Plan: p, Children: children}
}

func capped(s shares.Spec, most shares.Units) shares.Spec {
	s.Plan.Max = shares.Of(most)
	return s
}

func aged(s shares.Spec) shares.Spec {
	s.Plan.Aging = &shares.Aging{Per: shares.Duration(10 * time.Second), Points: 1}
	return s
}

// of gives n jobs of a share that arrive at the same second.
type of struct {
	path     string
	at, run  int // seconds
	cores, n int
	priority int
}

func jobsOf(t *testing.T, tree *shares.Tree, all []of) (jobs []Job) {
	t.Helper()
	for _, o := range all {
		leaf, ok := tree.ByPath(o.path)
		if !ok {
			t.Fatalf("no share %s", o.path)
		}
		for range max(o.n, 1) {
			jobs = append(jobs, Job{ID: int64(len(jobs)), Leaf: leaf, At: time.Duration(o.at) * time.Second,
				Runtime: time.Duration(o.run) * time.Second, Units: shares.Units(max(o.cores, 1)) * 1000, Priority: o.priority})
		}
	}
	return jobs
}

func built(t *testing.T, specs ...shares.Spec) *shares.Tree {
	t.Helper()
	tree, err := shares.Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func find(t *testing.T, r Result, path string) Share {
	t.Helper()
	for _, s := range r.Shares {
		if s.Path == path {
			return s
		}
	}
	t.Fatalf("no share %q in the result", path)
	return Share{}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// Small workloads whose outcome can be worked out by hand: the waits of each share in order of start.
func TestWaits(t *testing.T) {
	ab := []shares.Spec{share("A", 1), share("B", 1)}
	for name, c := range map[string]struct {
		specs []shares.Spec
		slots int
		jobs  []of
		rule  Rule
		waits map[string]string
		end   int
	}{
		"one slot, in order of arrival": {ab, 1, []of{{path: "A", run: 10, n: 3}}, Divvy{},
			map[string]string{"A": "0s 10s 20s"}, 30},
		"turn by turn": {ab, 1, []of{{path: "A", run: 10, n: 2}, {path: "B", run: 10, n: 2}}, Divvy{},
			map[string]string{"A": "0s 20s", "B": "10s 30s"}, 40},
		"fifo knows no turns": {ab, 1, []of{{path: "A", run: 10, n: 2}, {path: "B", run: 10, n: 2}}, FIFO{},
			map[string]string{"A": "0s 10s", "B": "20s 30s"}, 40},
		"priority first": {ab, 1, []of{{path: "A", run: 10, n: 2}, {path: "A", run: 10, priority: 5}}, Divvy{},
			map[string]string{"A": "0s 10s 20s"}, 30},
		// The third job has one point more than the second, which has waited 15 s by then: one point for 10 s is less.
		"priority against age": {ab, 1, []of{{path: "A", run: 20}, {path: "A", run: 10}, {path: "A", at: 15, run: 10, priority: 1}}, Divvy{},
			map[string]string{"A": "0s 5s 30s"}, 40},
		"aging": {[]shares.Spec{aged(share("A", 1))}, 1, []of{{path: "A", run: 20}, {path: "A", run: 10}, {path: "A", at: 15, run: 10, priority: 1}}, Divvy{},
			map[string]string{"A": "0s 20s 15s"}, 40},
		// B's job arrives while A holds both slots; it is the next to start, and A's own wait is longer for it.
		"a newcomer is next": {ab, 2, []of{{path: "A", run: 10, n: 4}, {path: "B", at: 5, run: 10}}, Divvy{},
			map[string]string{"A": "0s 0s 10s 20s", "B": "5s"}, 30},
		// B's job of 4 is in turn from second 1 on and will fit at 10. A's later one would end at 12: it waits.
		"nobody delays the one in turn": {ab, 4, []of{{path: "A", run: 10, cores: 3}, {path: "B", at: 1, run: 10, cores: 4}, {path: "A", at: 2, run: 10}}, FIFO{},
			map[string]string{"A": "0s 18s", "B": "9s"}, 30},
		// It would end at 7: the free slot is its own.
		"overtaking without delay": {ab, 4, []of{{path: "A", run: 10, cores: 3}, {path: "B", at: 1, run: 10, cores: 4}, {path: "A", at: 2, run: 5}}, FIFO{},
			map[string]string{"A": "0s 0s", "B": "9s"}, 20},
		// B's job of 3 leaves one slot beside it: one of A's two may overtake, however long it runs. They arrive before
		// its turn is asked for again, and under divvy B is below its target.
		"overtaking into what is left": {ab, 4, []of{{path: "A", run: 10, cores: 2}, {path: "B", at: 1, run: 10, cores: 3}, {path: "A", at: 2, run: 30, n: 2}}, Divvy{},
			map[string]string{"A": "0s 0s 18s", "B": "9s"}, 50},
		// In a leaf nobody overtakes, though there would be room.
		"not in a leaf": {ab, 4, []of{{path: "A", run: 10, cores: 3}, {path: "B", at: 1, run: 10, cores: 4}, {path: "B", at: 2, run: 5}}, Divvy{},
			map[string]string{"A": "0s", "B": "9s 18s"}, 25},
		"max holds back": {[]shares.Spec{capped(share("A", 1), 1000), share("B", 1)}, 2, []of{{path: "A", run: 10, n: 2}}, FIFO{},
			map[string]string{"A": "0s 10s"}, 20},
		// B's later job ends before 10, when the one in turn will fit.
		"easy overtakes in a share": {ab, 4, []of{{path: "A", run: 10, cores: 3}, {path: "B", at: 1, run: 10, cores: 4}, {path: "B", at: 2, run: 5}}, EASY{},
			map[string]string{"A": "0s", "B": "0s 9s"}, 20},
		// It would end at 11.
		"easy delays nobody": {ab, 4, []of{{path: "A", run: 10, cores: 3}, {path: "B", at: 1, run: 10, cores: 4}, {path: "B", at: 2, run: 9}}, EASY{},
			map[string]string{"A": "0s", "B": "9s 18s"}, 29},
		// The one slot that B's job of 3 leaves is for one of A's two.
		"easy into what is left": {ab, 4, []of{{path: "A", run: 10, cores: 2}, {path: "B", at: 1, run: 10, cores: 3}, {path: "A", at: 2, run: 30, n: 2}}, EASY{},
			map[string]string{"A": "0s 0s 18s", "B": "9s"}, 50},
		// Ten slots. J2 will fit at 10, and leaves 2. J3 is wider than these and would end at 22; J4 ends at 10 just so; J5 does not
		// fit the slot that is free then; J6 fits it, and one is left beside J2. At 10 J2 starts; J3 will fit at 20; J5 is wider
		// than the slot that is free. At 20 both start.
		"easy by hand": {[]shares.Spec{share("J1", 1), share("J2", 1), share("J3", 1), share("J4", 1), share("J5", 1), share("J6", 1)}, 10,
			[]of{{path: "J1", run: 10, cores: 6}, {path: "J2", at: 1, run: 10, cores: 8}, {path: "J3", at: 2, run: 20, cores: 4},
				{path: "J4", at: 3, run: 7, cores: 3}, {path: "J5", at: 4, run: 30, cores: 2}, {path: "J6", at: 5, run: 100}}, EASY{},
			map[string]string{"J1": "0s", "J2": "9s", "J3": "18s", "J4": "0s", "J5": "16s", "J6": "0s"}, 105},
		"easy knows max": {[]shares.Spec{capped(share("A", 1), 1000), share("B", 1)}, 2, []of{{path: "A", run: 10, n: 2}, {path: "B", run: 10, cores: 1}}, EASY{},
			map[string]string{"A": "0s 10s", "B": "0s"}, 20},
		"no time at all": {ab, 1, []of{{path: "A", run: 0, n: 3}, {path: "B", at: 7, run: 1}}, Ratio{},
			map[string]string{"A": "0s 0s 0s", "B": "0s"}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			tree := built(t, c.specs...)
			waits := map[string]string{}
			e := newRun(Config{Tree: tree, Capacity: shares.Units(c.slots) * 1000, Rule: c.rule})
			r, err := e.play(jobsOf(t, tree, c.jobs), 0)
			if err != nil {
				t.Fatal(err)
			}
			for path := range c.waits {
				node, _ := tree.ByPath(path)
				var texts []string
				for _, w := range e.gauges[node].waits {
					texts = append(texts, w.String())
				}
				waits[path] = strings.Join(texts, " ")
				if waits[path] != c.waits[path] {
					t.Errorf("%s waits %s, want %s", path, waits[path], c.waits[path])
				}
			}
			if r.EndS != float64(c.end) {
				t.Errorf("ends at %v s, want %d", r.EndS, c.end)
			}
		})
	}
}

// watch shows the engine of a Run to a test.
type watch struct {
	Rule
	saw func(*Engine)
}

func (w watch) Next(e *Engine) (int, bool) {
	w.saw(e)
	return w.Rule.Next(e)
}

// P10 of sharing.md: 39 and 39×1 on 40 slots. The ratio rule gives everyone its first slot first.
func TestManySiblings(t *testing.T) {
	specs := []shares.Spec{share("big", 39)}
	all := []of{{path: "big", run: 3600, n: 60}}
	for i := range 39 {
		name := "s" + string(rune('A'+i%26)) + string(rune('a'+i/26))
		specs = append(specs, share(name, 1))
		all = append(all, of{path: name, run: 3600, n: 60})
	}
	tree := built(t, specs...)
	for _, c := range []struct {
		rule Rule
		want float64
		over float64
	}{{Divvy{}, 20, 1}, {Ratio{}, 1, 1}, {FIFO{}, 40, 39}} {
		r, err := Run(Config{Tree: tree, Capacity: 40_000, Rule: c.rule}, jobsOf(t, tree, all))
		if err != nil {
			t.Fatal(err)
		}
		if got := find(t, r, "big").HeldOver[0]; !near(got, c.want) {
			t.Errorf("%s: big holds %v in the first hour, want %v", c.rule.Name(), got, c.want)
		}
		if due := find(t, r, "big").DueOver[0]; !near(due, 20) {
			t.Errorf("%s: big should hold %v, want 20", c.rule.Name(), due)
		}
		if r.Fairness.OverJobs >= c.over {
			t.Errorf("%s: a start was %v jobs over target", c.rule.Name(), r.Fairness.OverJobs)
		}
	}
}

// P12: a job of 8 takes its share over a target of 4 by less than one job, and the next one waits for its turn.
func TestWideJobs(t *testing.T) {
	tree := built(t, share("wide", 1), share("a", 1), share("b", 1), share("c", 1), share("d", 1))
	all := []of{{path: "wide", run: 3600, cores: 8, n: 10}}
	for _, path := range []string{"a", "b", "c", "d"} {
		all = append(all, of{path: path, run: 3600, n: 100})
	}
	r, err := Run(Config{Tree: tree, Capacity: 20_000, Rule: Divvy{}}, jobsOf(t, tree, all))
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Fairness; f.OverSlots != 4 || f.OverJobs != 0.5 || r.IdleSH != 0 {
		t.Errorf("over by %v slots, %v jobs, %v kept free; a job of 8 is 4 over the target of 4", f.OverSlots, f.OverJobs, r.IdleSH)
	}
	for path, want := range map[string]float64{"wide": 8, "a": 3, "d": 3} {
		if got := find(t, r, path).HeldOver[0]; got != want {
			t.Errorf("%s holds %v, want %v", path, got, want)
		}
	}
}

// A share alone holds 4 of 4 slots for an hour; the other one, of the same weight, arrives with 4 jobs after half of
// it. Targets from then on: 2 and 2. It gets all 4 slots at the end of the hour.
func TestFigures(t *testing.T) {
	tree := built(t, share("A", 1), share("B", 1))
	r, err := Run(Config{Tree: tree, Capacity: 4000, Rule: Divvy{}, Every: 30 * time.Minute},
		jobsOf(t, tree, []of{{path: "A", run: 3600, n: 4}, {path: "B", at: 1800, run: 3600, n: 4}}))
	if err != nil {
		t.Fatal(err)
	}
	a, b := find(t, r, "A"), find(t, r, "B")
	for what, c := range map[string][2]float64{
		"A delivered": {a.Delivered, 4}, "A target": {a.Target, 3}, "A over": {a.Over, 1}, "A short": {a.Short, 0}, "A lag": {a.Lag, -3600},
		"B delivered": {b.Delivered, 4}, "B target": {b.Target, 5}, "B short": {b.Short, 1}, "B over": {b.Over, 0},
		"B worst lag": {b.WorstLag, 3600}, "B starved": {b.StarvedS, 1800}, "B wait": {b.Wait.Max, 1800},
		"end": {r.EndS, 7200}, "waiting": {r.WaitingS, 1800}, "idle": {r.IdleSH, 0},
		"jain": {r.Fairness.Levels[0].Jain, 0.5}, "short": {r.Fairness.Short, 1},
		"root": {r.Shares[0].Delivered, 8}, "A in its second half hour": {a.HeldOver[1], 2}, "A due then": {a.DueOver[1], 1},
	} {
		if !near(c[0], c[1]) {
			t.Errorf("%s is %v, want %v", what, c[0], c[1])
		}
	}
}

// As above, but A has four more jobs: from the end of the hour on both have a target of 2. With a memory of an hour
// B has missed 2 slots for half of it, which is 0.59 in the mean: its target is 2.59, and of four slots it gets three.
func TestHalfLife(t *testing.T) {
	for half, want := range map[time.Duration]float64{0: 2, time.Hour: 3} {
		a, b := share("A", 1), share("B", 1)
		a.Plan.HalfLife, b.Plan.HalfLife = shares.Duration(half), shares.Duration(half)
		tree := built(t, a, b)
		r, err := Run(Config{Tree: tree, Capacity: 4000, Rule: Divvy{}},
			jobsOf(t, tree, []of{{path: "A", run: 3600, n: 8}, {path: "B", at: 1800, run: 3600, n: 4}}))
		if err != nil {
			t.Fatal(err)
		}
		if got := find(t, r, "B").HeldOver[1]; got != want {
			t.Errorf("half-life %s: B holds %v in the second hour, want %v", half, got, want)
		}
	}
}

func TestNever(t *testing.T) {
	tree := built(t, capped(share("A", 1), 2000), share("B", 1))
	r, err := Run(Config{Tree: tree, Capacity: 4000, Rule: Divvy{}},
		jobsOf(t, tree, []of{{path: "A", run: 1, cores: 3}, {path: "B", run: 1, cores: 5, n: 2}, {path: "B", run: 1, cores: 4}}))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := find(t, r, "A"), find(t, r, "B"); a.Never != 1 || b.Never != 2 || b.Started != 1 || r.Shares[0].Never != 3 || r.Jobs != 4 {
		t.Errorf("A %+v\nB %+v", a, b)
	}
}

func TestJobsThatMakeNoSense(t *testing.T) {
	tree := built(t, share("A", 1, share("B", 1)))
	good := Job{ID: 7, Leaf: 2, Units: 1000, Runtime: 1}
	for want, change := range map[string]func(*Job){
		"job 7: node 1 is no leaf":       func(j *Job) { j.Leaf = 1 },
		"job 7: node 3 is no leaf":       func(j *Job) { j.Leaf = 3 },
		"job 7: 0 units":                 func(j *Job) { j.Units = 0 },
		"job 7: run time -1ns is":        func(j *Job) { j.Runtime = -1 },
		"job 7: arrival -1ns is before":  func(j *Job) { j.At = -1 },
		"job 7 would end more than 292 ": func(j *Job) { j.At, j.Runtime = 1<<62, 1<<62 },
	} {
		j := good
		change(&j)
		if _, err := Run(Config{Tree: tree, Capacity: 1000, Rule: Divvy{}}, []Job{j}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A series that is too long gets wider points, and loses nothing.
func TestSeriesHalves(t *testing.T) {
	s := newSeries(1, time.Second)
	total := time.Duration(3*maxPoints+1) * time.Second
	for at := time.Duration(0); at < total; at += 700 * time.Millisecond {
		s.pass(at, min(at+700*time.Millisecond, total), []float64{2}, []float64{3000})
	}
	held, target := 0.0, 0.0
	for _, p := range s.points {
		held, target = held+p[0].held, target+p[0].target
	}
	if s.every != 4*time.Second || len(s.points) > maxPoints || !near(held, 2*total.Seconds()) || !near(target, 3*total.Seconds()) {
		t.Errorf("%d points of %s, held %v, target %v", len(s.points), s.every, held, target)
	}
}
