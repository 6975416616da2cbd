package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

func pool(t *testing.T, a, b float64) *shares.Pool {
	t.Helper()
	plan := func(w float64) shares.Plan { p := shares.DefaultPlan(); p.Weight = w; return p }
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: plan(a)}, {Name: "B", Plan: plan(b)}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(path string) shares.ShareID { return map[string]shares.ShareID{"A": 1, "B": 2}[path] })
	p := shares.NewPool(tree, "default")
	p.SetWant(1, 10_000)
	p.SetWant(2, 10_000)
	return p
}

// Every decision is compared or counted with a reason; a difference names both sides, a drift is none.
func TestAgain(t *testing.T) {
	p := pool(t, 3, 1)
	var both shares.Contenders
	both.Set(p, 1, true)
	both.Set(p, 2, true)
	was := Decision{At: time.Unix(100, 0), Version: 1, Job: 7, Share: 1, RunnerUp: 2, Round: 4000, Candidates: 2, Deficit: 3, RunnerUpDeficit: 1}
	var s Score
	if leaf := s.Again(p, &both, was, 1); leaf != 1 || s.Differences != 0 || s.Drifts != 0 {
		t.Errorf("%d, %+v", leaf, s)
	}
	was.Deficit = 2.5
	if s.Again(p, &both, was, 1); s.Drifts != 1 || s.Differences != 0 {
		t.Errorf("%+v", s)
	}
	was.Share = 2
	for range 2 {
		s.Again(p, &both, was, 1)
	}
	if len(s.First) != 1 || s.First[0].ShareID != 2 || s.First[0].ShareNow != "A" || s.First[0].DeficitNow != 3 || s.Differences != 2 {
		t.Errorf("%+v", s)
	}
	if leaf := s.Again(p, &shares.Contenders{}, was, 1); leaf != -1 || s.Differences != 3 {
		t.Errorf("nobody contends: %d, %+v", leaf, s)
	}
	s.Leave(Sampled, 5)
	s.Leave(Sampled, 3)
	if s.Decisions != 13 || s.Compared != 5 || len(s.NotComparable) != 1 || s.NotComparable[0].Decisions != 8 {
		t.Errorf("%+v", s)
	}
}

// A moment that the records of two daemons cover counts once.
func TestMeterCountsOnce(t *testing.T) {
	p := pool(t, 1, 1)
	p.Hold(1, 2000)
	at := func(hour int) time.Time { return time.Unix(int64(hour)*3600, 0) }
	var m Meter
	var s Score
	for _, from := range []int{0, 2} { // each has three hours
		m.Begin(at(from))
		m.Until(at(from+1), []*shares.Pool{p}, nil)
		m.Until(at(from+3), []*shares.Pool{p}, []*shares.Pool{p})
	}
	m.Start(p, 1, false)
	m.Report(&s)
	if len(s.Shares) != 1 || s.Shares[0].Path != "A" || s.Shares[0].Recorded != 10 || s.Shares[0].Now != 8 || s.Shares[0].Started != 1 || s.Hours != 5 {
		t.Errorf("%+v", s)
	}
}

// Daemons are replayed one after the other; what they had in common is listed once.
func TestVersionsAreListedOnce(t *testing.T) {
	p := pool(t, 3, 1)
	var both shares.Contenders
	both.Set(p, 1, true)
	var s Score
	for _, version := range []int64{3, 4, 6, 2, 3, 4} {
		s.Again(p, &both, Decision{At: time.Unix(100, 0), Version: version, Job: 7, Share: 1, Round: 4000, Candidates: 1}, 0)
	}
	if want := []int64{2, 3, 4, 6}; !slices.Equal(s.Version, want) {
		t.Errorf("versions %v, want %v", s.Version, want)
	}
}
