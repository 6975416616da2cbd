package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Every decision is compared or counted with a reason; a difference names both sides, a drift is none.
func TestCame(t *testing.T) {
	was := Decision{At: time.Unix(100, 0), Version: 1, Job: 7, Share: 1, Deficit: 3}
	now := Outcome{Share: 1, Path: "A", Deficit: 3}
	var s Score
	if s.Came(was, now, 1); s.Differences != 0 || s.Drifts != 0 {
		t.Errorf("%+v", s)
	}
	now.Other = true
	if s.Came(was, now, 1); s.Drifts != 1 || s.Differences != 0 {
		t.Errorf("%+v", s)
	}
	was.Share = 2
	for range 2 {
		s.Came(was, now, 1)
	}
	if len(s.First) != 1 || s.First[0].ShareID != 2 || s.First[0].ShareNow != "A" || s.First[0].DeficitNow != 3 || s.Differences != 2 {
		t.Errorf("%+v", s)
	}
	if s.Came(was, Outcome{}, 1); s.Differences != 3 {
		t.Errorf("nobody contends: %+v", s)
	}
	s.Leave(Missing, 5)
	s.Leave(Missing, 3)
	if s.Decisions != 13 || s.Compared != 5 || len(s.NotComparable) != 1 || s.NotComparable[0].Decisions != 8 {
		t.Errorf("%+v", s)
	}
}

// A moment that the records of two daemons cover counts once.
func TestMeterCountsOnce(t *testing.T) {
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	held := []Holding{{Pool: "default", Tree: tree, Held: []shares.Units{2000, 2000}}}
	at := func(hour int) time.Time { return time.Unix(int64(hour)*3600, 0) }
	var m Meter
	var s Score
	for _, from := range []int{0, 2} { // each has three hours
		m.Begin(at(from))
		m.Until(at(from+1), held, nil)
		m.Until(at(from+3), held, held)
	}
	m.Start("default", tree, 1, false)
	m.Report(&s)
	if len(s.Shares) != 1 || s.Shares[0].Path != "A" || s.Shares[0].Recorded != 10 || s.Shares[0].Now != 8 || s.Shares[0].Started != 1 || s.Hours != 5 {
		t.Errorf("%+v", s)
	}
}

// Daemons are replayed one after the other; what they had in common is listed once.
func TestVersionsAreListedOnce(t *testing.T) {
	var s Score
	for _, version := range []int64{3, 4, 6, 2, 3, 4} {
		s.Came(Decision{At: time.Unix(100, 0), Version: version, Job: 7, Share: 1}, Outcome{Share: 1, Path: "A"}, 0)
	}
	if want := []int64{2, 3, 4, 6}; !slices.Equal(s.Version, want) {
		t.Errorf("versions %v, want %v", s.Version, want)
	}
}
