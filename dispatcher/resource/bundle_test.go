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
	*rapid.T
	pools   []*Pool
	bundles []*Bundle
	wants   []int64
	running []int // bundles, the eldest first
	now     time.Time
}

func drawShop(t *rapid.T) *shop {
	s := &shop{T: t, now: noon}
	for k := range rapid.IntRange(1, 3).Draw(t, "resources") {
		of := spec(rapid.Int64Range(2, 6).Draw(t, "capacity"))
		of.Name, of.MaxBypass, of.MaxHold = strconv.Itoa(k), 5, time.Hour
		s.pools = append(s.pools, NewPool(of))
	}
	for k := range rapid.IntRange(1, 6).Draw(t, "bundles") {
		var asks []Ask
		must := rapid.IntRange(0, len(s.pools)-1).Draw(t, "must")
		for i, p := range s.pools {
			if n := rapid.Int64Range(0, 2).Draw(t, "units"); n > 0 || i == must {
				n = max(n, 1)
				asks = append(asks, Ask{Pool: p, Units: n})
			}
		}
		s.bundles = append(s.bundles, NewBundle(strconv.Itoa(k), asks...))
		s.wants = append(s.wants, 0)
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
	rapid.Check(t, func(t *rapid.T) {
		s := drawShop(t)
		waited, nobody := make([]int, len(s.bundles)), 0
		for k := range 400 {
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
					t.Fatalf("nothing runs, and nobody may: %s", s)
				}
			}
			for b := range s.bundles {
				if waited[b]++; ok && b == taker {
					waited[b] = 0
				}
				if waited[b] > 150 {
					t.Fatalf("%d has waited for %d pulls, with %v running: %+v", b, waited[b], s.running, s.bundles[b])
				}
			}
		}
	})
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
