package dispatcher

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// What why counts is what the records say, for leaves and for branches.
func TestWhy(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 200))
	d := f.daemon()
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		f.enqueue(batch{share: leaf, n: 200})
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	none, err := d.Why(t.Context(), WhyRequest{A: "Prod", B: "Ana"})
	if err != nil || none.Decisions.Recorded != 0 || none.ABeforeB.Deficit != nil || !strings.HasPrefix(none.Summary, "No decision was recorded") {
		t.Errorf("%+v, %v", none, err)
	}
	for range 60 {
		pull1(t, d, "q")
	}
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{"Prod/MC", "Prod/Rep"}, {"Prod", "Ana"}, {"Prod/Val", "Ana"}, {"Test", "Ana/Grp"}} {
		y, err := d.Why(t.Context(), WhyRequest{A: pair[0], B: pair[1]})
		if err != nil {
			t.Fatal(err)
		}
		var won, ab, ba int64
		var deficit, second float64
		for _, r := range f.decisions() {
			if below(r.Share, pair[0]) {
				won++
			}
			if r.RunnerUp != nil && below(r.Share, pair[0]) && below(*r.RunnerUp, pair[1]) {
				ab, deficit, second = ab+1, deficit+float64(r.Deficit), second+float64(*r.RunnerUpDeficit)
			}
			if r.RunnerUp != nil && below(r.Share, pair[1]) && below(*r.RunnerUp, pair[0]) {
				ba++
			}
		}
		if y.Decisions != (Tally{Recorded: 60, Made: 60}) || y.AWon != (Tally{Recorded: won, Made: won}) || y.ABeforeB.Recorded != ab || y.BBeforeA.Recorded != ba {
			t.Errorf("%v: %+v, want %d won, %d and %d", pair, y, won, ab, ba)
		}
		if ab > 0 && (math.Abs(*y.ABeforeB.Deficit-deficit/float64(ab)) > 1e-6 || math.Abs(*y.ABeforeB.RunnerUpDeficit-second/float64(ab)) > 1e-6) {
			t.Errorf("%v: deficits %v and %v", pair, *y.ABeforeB.Deficit, *y.ABeforeB.RunnerUpDeficit)
		}
		standing := map[string]ShareStanding{}
		for _, s := range d.Standing().Pools[0].Shares {
			standing[s.Path] = s
		}
		if len(y.Pools) != 1 || !strings.Contains(y.Summary, pair[0]+" won") {
			t.Fatalf("%+v", y)
		}
		for _, l := range []LevelStanding{y.Pools[0].A, y.Pools[0].B} {
			if s := standing[l.Share]; l.Held != s.Held || l.Target != s.Target || s.Path == "" {
				t.Errorf("%v: %+v, the standing is %+v", pair, l, s)
			}
		}
	}
	y, err := d.Why(t.Context(), WhyRequest{A: "Prod", B: "Test", Last: 10})
	if err != nil || y.Decisions.Recorded != 10 {
		t.Errorf("the last 10: %+v, %v", y.Decisions, err)
	}
	f.exec("SELECT divvy_make_days('decisions', (now() AT TIME ZONE 'UTC')::date - 1, 1)") // the hour before may be of yesterday
	f.exec("UPDATE decisions SET written_at = written_at - interval '30 min'")
	if y, err = d.Why(t.Context(), WhyRequest{A: "Prod", B: "Test", From: time.Minute}); err != nil || y.Decisions.Recorded != 0 {
		t.Errorf("of the last minute: %+v, %v", y.Decisions, err)
	}
}

func below(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

func TestWhyRefuses(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 4))
	d := f.daemon()
	for _, c := range []struct {
		WhyRequest
		field string
	}{
		{WhyRequest{A: "Nowhere", B: "Test"}, "a"}, {WhyRequest{A: "Test", B: ""}, "b"}, {WhyRequest{A: "Test", B: "Test"}, "b"},
		{WhyRequest{A: "Prod", B: "Prod/MC"}, "b"}, {WhyRequest{A: "Prod/MC", B: "Prod"}, "b"},
		{WhyRequest{A: "Prod", B: "Test", Last: mostLast + 1}, "last"}, {WhyRequest{A: "Prod", B: "Test", From: -1}, "since"},
	} {
		var field *job.FieldError
		if _, err := d.Why(t.Context(), c.WhyRequest); !errors.As(err, &field) || field.Field != c.field {
			t.Errorf("%+v: %v, want a fault of %s", c.WhyRequest, err, c.field)
		}
	}
}

// A share that won, but never with the other next in line, is not said to have never been chosen.
func TestWhySaysThatAnotherWasNext(t *testing.T) {
	y := Why{A: "A", B: "C", Decisions: Tally{Recorded: 2000, Made: 2000}, AWon: Tally{Recorded: 798, Made: 798}}
	want := "Of the last 2000 decisions, A won 798 and C 0. Each of the 798 times that A was chosen, another share than C was next in line, or none. C was never chosen."
	if got := whySummary(&y); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
