package suite

import (
	"io"
	"strings"
	"testing"
	"time"
)

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
		s := &stage{Sizes: c.sizes}
		sides := s.sides()
		var mine []string
		for _, of := range sides {
			if of.at == s {
				mine = append(mine, of.name)
			}
		}
		if got := strings.Join(mine, ", "); got != c.mine {
			t.Errorf("%s: %q, want %q", name, got, c.mine)
		}
		base, large, held, wide := sides[0], sides[1], sides[2], sides[3]
		if large.ready != 10*base.ready || held.held != 10*base.held || held.ready != base.ready || wide.ready != base.ready || wide.plan.queues <= base.plan.queues {
			t.Errorf("%s: %+v %+v %+v %+v", name, base, large, held, wide)
		}
	}
}

// Every measurement is in a run once, whatever shares its rounds; S6 is the last.
func TestSteps(t *testing.T) {
	for name, sizes := range map[string]Sizes{"full": Base(), "quick": Quick()} {
		steps := (&stage{Sizes: sizes}).steps()
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

// A full run makes anew what has gone after every round, a brief one when it is a quarter.
func TestMissing(t *testing.T) {
	full, brief := &stage{Sizes: Sizes{Ready: 1000}}, &stage{Sizes: Sizes{Ready: 1000, Brief: true}}
	for i, c := range []struct{ gone, full, brief int }{{100, 100, 0}, {149, 149, 0}, {1, 1, 250}, {600, 600, 600}, {249, 249, 0}} {
		if f, b := full.missing(c.gone), brief.missing(c.gone); f != c.full || b != c.brief {
			t.Errorf("%d: %d and %d, want %d and %d", i, f, b, c.full, c.brief)
		}
	}
}

// A brief run recounts once, for all that was measured; a check that fails then has no less to say.
func TestRecountOfAll(t *testing.T) {
	s := loaded(t)
	s.Brief, s.report = true, &Report{Began: time.Now()}
	s.cfg.Progress = io.Discard
	for _, what := range []string{"loading", "claims"} {
		if err := s.measured(t.Context(), what); err != nil || len(s.report.Checks) != 0 {
			t.Fatalf("%s: %v %v", what, err, s.report.Checks)
		}
	}
	for range 2 { // the second time there is nothing to check
		if err := s.settle(t.Context()); err != nil || len(s.report.Checks) != 1 || !strings.HasPrefix(s.report.Checks[0], "after loading, claims: ") {
			t.Fatalf("%v %v", err, s.report.Checks)
		}
	}
	s.extra = 1
	if err := s.measured(t.Context(), "waking"); err != nil {
		t.Fatal(err)
	}
	if err := s.settle(t.Context()); err == nil || !strings.Contains(err.Error(), "no figures") {
		t.Errorf("a job is missing: %v", err)
	}
}
