package resource

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shop is several pools, and bundles of one ID each that want several of them.
type shop struct {
	rapid.TB
	pools   []*Pool
	bundles []*Bundle
	wants   []int64
	running []int // bundles, the eldest first
	now     time.Time
}

func newShop(t rapid.TB, capacities ...int64) *shop {
	s := &shop{TB: t, now: noon}
	for k, units := range capacities {
		of := spec(units)
		of.Name, of.MaxBypass, of.MaxHold = strconv.Itoa(k), 5, time.Hour
		s.pools = append(s.pools, NewPool(of))
	}
	return s
}

// add is one more bundle, of so many units of each pool.
func (s *shop) add(units ...int64) {
	var asks []Ask
	for i, n := range units {
		if n > 0 {
			asks = append(asks, Ask{Pool: s.pools[i], Units: n})
		}
	}
	s.bundles = append(s.bundles, NewBundle(strconv.Itoa(len(s.bundles)), asks...))
	s.wants = append(s.wants, 0)
}

func drawShop(t *rapid.T) *shop {
	s := newShop(t, rapid.SliceOfN(rapid.Int64Range(2, 6), 1, 3).Draw(t, "capacities")...)
	for range rapid.IntRange(1, 6).Draw(t, "bundles") {
		must := rapid.IntRange(0, len(s.pools)-1).Draw(t, "must")
		units := make([]int64, len(s.pools))
		for i := range units {
			if units[i] = rapid.Int64Range(0, 2).Draw(t, "units"); i == must {
				units[i] = max(units[i], 1)
			}
		}
		s.add(units...)
	}
	return s
}

func (s *shop) want(b int, jobs int64) {
	s.wants[b] = jobs
	s.bundles[b].Want(jobs)
}

func (s *shop) hold(b int, jobs int64) {
	for _, a := range s.bundles[b].asks {
		a.Pool.Hold(a.ID, jobs*a.Units)
	}
}

// pull asks all, always in the same order, and gives the slot to the first that is let pass.
func (s *shop) pull() (taker int, ok bool) {
	for b, bundle := range s.bundles {
		if s.wants[b] == 0 {
			continue
		}
		if may, _ := bundle.Admits(s.now); !may {
			continue
		}
		if ok {
			continue // they are asked all the same
		}
		taker, ok = b, true
	}
	if ok {
		s.want(taker, s.wants[taker]-1)
		s.hold(taker, 1)
		s.bundles[taker].Granted()
		s.running = append(s.running, taker)
	}
	return taker, ok
}

func (s *shop) end() {
	s.hold(s.running[0], -1)
	s.running = s.running[1:]
}

// TestBundlesAllHaveTheirTurn: nobody who needs several resources waits for ever, whoever is asked first and however its
// needs cross those of others; no pool is ever over its capacity, all or nothing is taken, and at rest nothing is idle that
// somebody could use.
func TestBundlesAllHaveTheirTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { drawShop(t).trade() })
}

// Bundles of two units came after those of one, though one of them had booked: it was not its turn, and it kept others from booking.
func TestABookingIsOfWhoseTurnItIs(t *testing.T) {
	s := newShop(t, 6, 2, 2)
	for _, units := range [][]int64{{0, 2, 2}, {0, 2, 2}, {2, 2, 2}, {2, 1, 0}, {1, 0, 1}} {
		s.add(units...)
	}
	s.trade()
}

// trade gives slots and ends jobs in turn.
func (s *shop) trade() {
	waited, nobody := make([]int, len(s.bundles)), 0
	for k := range 1200 {
		s.now = s.now.Add(time.Second)
		for b := range s.bundles {
			s.want(b, 2+int64(k+b)%3)
		}
		taker, ok := s.pull()
		s.checkPools()
		switch {
		case ok:
			nobody = 0
		case len(s.running) > 0:
			s.end()
		default:
			if nobody++; nobody > 2 {
				s.Fatalf("nothing runs, and nobody may: %s", s)
			}
		}
		for b := range s.bundles {
			if waited[b]++; ok && b == taker {
				waited[b] = 0
			}
			if waited[b] > 600 {
				s.Fatalf("%d has waited for %d pulls, with %v running: %+v", b, waited[b], s.running, s.bundles[b])
			}
		}
	}
}

func (s *shop) checkPools() {
	for _, p := range s.pools {
		if p.Held() > p.Usable() {
			s.Fatalf("%s: %d of %d", p.Name(), p.Held(), p.Usable())
		}
		held, wanted := map[string]int64{}, map[string]int64{}
		for _, b := range s.running {
			for _, a := range s.bundles[b].asks {
				if a.Pool == p {
					held[a.ID] += a.Units
				}
			}
		}
		for k, b := range s.bundles {
			for i, a := range b.asks {
				if a.Pool == p && !b.out[i] {
					wanted[a.ID] += s.wants[k] * a.Units
				}
			}
		}
		for _, a := range p.Allowances() {
			if a.Held != held[a.ID] || a.Wanted != wanted[a.ID] {
				s.Fatalf("%s: %+v, want %d held and %d wanted", p.Name(), a, held[a.ID], wanted[a.ID])
			}
		}
		if b := p.booked; b != nil && b.until.After(s.now.Add(p.spec.MaxHold)) {
			s.Fatalf("%s is booked until %s", p.Name(), b.until)
		}
	}
}

func (s *shop) String() (text string) {
	for k, b := range s.bundles {
		text += fmt.Sprintf("\n%d: %d wanted, waits %v, booked %v, out %v", k, s.wants[k], b.waits, !b.until.IsZero(), b.out)
		for _, a := range b.asks {
			i := a.Pool.index[a.ID]
			is, before := a.Pool.split.below(a.Pool, i, noon)
			text += fmt.Sprintf(" [%d of %s, holds %d of %d, below %v behind %d]", a.Units, a.Pool.name, a.Pool.HeldBy(a.ID), a.Pool.Usable(), is, before)
		}
	}
	return text
}

// TestExplainChangesNothing: looking starts no reservation, ends none, and does not bring wants back.
func TestExplainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShop(t)
		for range rapid.IntRange(1, 40).Draw(t, "pulls") {
			for b := range s.bundles {
				s.want(b, 3)
			}
			if _, ok := s.pull(); !ok && len(s.running) > 0 {
				s.end()
			}
			for _, b := range s.bundles {
				before, marks := *b, b.marks()
				out := append([]bool(nil), b.out...)
				if ok, why := b.Explain(s.now); !ok && why.Rule == OverItsPart && len(why.KeptFor) == 0 {
					t.Fatalf("%+v", why)
				}
				if before.until != b.until || before.waits != b.waits || !slices.Equal(out, b.out) || !reflect.DeepEqual(marks, b.marks()) {
					t.Fatalf("%+v, before %+v", b, before)
				}
				s.checkPools()
			}
		}
	})
}

func (b *Bundle) marks() (all [][]mark) {
	for _, a := range b.asks {
		all = append(all, append([]mark(nil), a.Pool.kept.marks...))
	}
	return all
}
