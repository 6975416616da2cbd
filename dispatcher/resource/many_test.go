package resource

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// crowd is a pool of so many IDs, by weights, that it does not follow every change at once.
func crowd(t testing.TB, ids int, capacity int64) *Pool {
	t.Helper()
	s := spec(capacity)
	s.Split.Weights = map[string]float64{shares.Others: 1, "0": 3, "1": 0.5}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	p := NewPool(s)
	p.exactly = 0
	for i := range ids {
		p.Want(strconv.Itoa(i), 1)
	}
	return p
}

// TestCrowdIsServed: with a split that lags behind, never more is held than there is; a refusal is not by a split that is older
// than it may be; and once it is up to date somebody of those who want a free unit gets it.
func TestCrowdIsServed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.IntRange(40, 90).Draw(rt, "ids")
		p, now := crowd(t, ids, rapid.Int64Range(1, 60).Draw(rt, "capacity")), noon
		pause := time.Duration(ids) * pauseEach
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			id := strconv.Itoa(rapid.IntRange(0, ids-1).Draw(rt, "id"))
			switch rapid.SampledFrom([]string{"ask", "ask", "want", "end", "capacity", "later"}).Draw(rt, "what") {
			case "ask":
				ok, why := p.Admits(id, 1, now)
				switch {
				case ok && p.Held() >= p.Usable():
					rt.Fatalf("%s takes unit %d of %d", id, p.Held()+1, p.Usable())
				case ok && p.WantedBy(id) > 0:
					p.Hold(id, 1)
					p.Want(id, p.WantedBy(id)-1)
					p.Granted(id)
				case why.Rule == OverItsPart && why.Until.After(now.Add(pause)) && p.split.(*weighted).changes > 0:
					rt.Fatalf("%s is refused until %v, by a split that is not up to date", id, why.Until.Sub(now))
				}
			case "want":
				p.Want(id, rapid.Int64Range(0, 3).Draw(rt, "units"))
			case "end":
				if p.HeldBy(id) > 0 {
					p.Hold(id, -1)
				}
			case "capacity":
				p.SetCapacity(rapid.Int64Range(0, 60).Draw(rt, "units"))
			case "later":
				now = now.Add(pause)
			}
		}
		now = now.Add(pause)
		got := 0
		for i := range ids {
			if id := strconv.Itoa(i); p.WantedBy(id) > 0 {
				if ok, _ := p.Admits(id, 1, now); ok {
					got++
				}
			}
		}
		lacking := 0
		for _, a := range p.Allowances() {
			lacking += int(max(0, a.Allowance-a.Held))
		}
		if free := p.Usable() - p.Held(); got == 0 && free > 0 && lacking > 0 {
			rt.Fatalf("%d units are free, %d are lacking, and nobody gets one", free, lacking)
		}
	})
}

// TestCrowdGoesRound: of many IDs that all want more than there is everybody has its turns, in proportion to weights.
func TestCrowdGoesRound(t *testing.T) {
	const ids, units, rounds = 100, 20, 60
	p, now := crowd(t, ids, units), noon
	got := map[string]int{}
	var running []string
	for k := range ids * rounds {
		for i := range ids {
			p.Want(strconv.Itoa(i), 5)
		}
		for i := 0; p.Held() < units && i < 2*ids; i++ {
			id := strconv.Itoa((k*7 + i) % ids)
			if ok, _ := p.Admits(id, 1, now); ok {
				p.Hold(id, 1)
				p.Granted(id)
				got[id]++
				running = append(running, id)
			}
			now = now.Add(pauseEach)
		}
		p.Hold(running[0], -1)
		running = running[1:]
	}
	for id, weight := range map[string]float64{"0": 3, "1": 0.5, "2": 1, "50": 1, "99": 1} {
		if want := weight * rounds * ids / (ids + 1.5); float64(got[id]) < 0.8*want || float64(got[id]) > 1.25*want {
			t.Errorf("%s got %d units, want about %.0f", id, got[id], want)
		}
	}
}
