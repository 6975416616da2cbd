package resource

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

var noon = time.Unix(1_800_000_000, 0)

// drawSpec is a resource of a few units: even, with weights or with a tree, for the IDs "0", "1", … .
func drawSpec(t *rapid.T, ids int) Spec {
	s := spec(rapid.Int64Range(1, 30).Draw(t, "capacity"))
	weight := rapid.SampledFrom([]float64{0.3, 1, 1, 2, 5})
	switch rapid.SampledFrom([]string{"even", "even", "weights", "tree"}).Draw(t, "split") {
	case "weights":
		s.Split.Weights = map[string]float64{shares.Others: weight.Draw(t, "others")}
		for i := range ids {
			s.Split.Weights[strconv.Itoa(i)] = weight.Draw(t, "weight")
		}
	case "tree":
		s.Split.Tree = []Node{{Name: "g", Weight: weight.Draw(t, "g")}, {Name: "h", Weight: 1, Children: []Node{{Name: shares.Others, Weight: 1}}}}
		for i := range ids/2 + 1 {
			s.Split.Tree[0].Children = append(s.Split.Tree[0].Children, Node{Name: strconv.Itoa(i), Weight: weight.Draw(t, "weight")})
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// stage is a pool, unit jobs that run in it, and a clock.
type stage struct {
	*rapid.T
	pool    *Pool
	ids     []string
	running []string // the eldest first
	now     time.Time
	lapsed  bool // the last pull took what was kept for somebody else
}

func newStage(t *rapid.T, s Spec, ids int) *stage {
	w := &stage{T: t, pool: NewPool(s), now: noon}
	for i := range ids {
		w.ids = append(w.ids, strconv.Itoa(i))
	}
	return w
}

func (w *stage) start(id string) {
	w.pool.Hold(id, 1)
	w.running = append(w.running, id)
}

func (w *stage) end(i int) {
	w.pool.Hold(w.running[i], -1)
	w.running = slices.Delete(w.running, i, i+1)
}

// pull asks for the IDs in order, as a slot that may run them would, and takes the first that is let pass.
func (w *stage) pull(order []string) (id string, whys []Refusal) {
	for _, id := range order {
		if w.pool.WantedBy(id) == 0 {
			continue
		}
		ok, why := w.pool.Admits(id, 1, w.now)
		if ok {
			w.lapsed = w.pool.members[w.pool.index[id]].lapsed
			if w.pool.Held() >= w.pool.Usable() {
				w.Fatalf("%s takes unit %d of %d", id, w.pool.Held()+1, w.pool.Usable())
			}
			w.pool.Want(id, w.pool.WantedBy(id)-1)
			w.start(id)
			w.pool.Granted(id)
			return id, nil
		}
		whys = append(whys, why)
	}
	return "", whys
}

func (w *stage) order() []string { return rapid.Permutation(w.ids).Draw(w.T, "order") }

// TestSum: allowances come to all that there is or all that is wanted, nobody's is more than it wants.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.IntRange(1, 9).Draw(t, "ids")
		w := newStage(t, drawSpec(t, ids), ids)
		for range 4 {
			demands := int64(0)
			for _, id := range w.ids {
				w.pool.Hold(id, rapid.Int64Range(0, 3).Draw(t, "held"))
				w.pool.Want(id, rapid.Int64Range(0, 9).Draw(t, "want"))
				demands += w.pool.HeldBy(id) + w.pool.WantedBy(id)
			}
			if rapid.Bool().Draw(t, "report") {
				w.pool.SetExternal(rapid.Int64Range(0, 30).Draw(t, "total"), rapid.Int64Range(0, 30).Draw(t, "used"), 0)
			}
			sum := int64(0)
			for _, a := range w.pool.Allowances() {
				sum += a.Allowance
				if a.Allowance < 0 || a.Allowance > a.Held+a.Wanted {
					t.Fatalf("%+v", a)
				}
			}
			if want := min(w.pool.Usable(), demands); sum != want {
				t.Fatalf("allowances of %d, want %d: %+v", sum, want, w.pool.Allowances())
			}
		}
	})
}

// TestNothingIsIdle: whatever happens, a unit that is free goes to who asks for it or is kept for others, by name; and once
// it was refused max_hold ago without anybody taking it, anyone gets it. When everybody is asked, somebody is let pass.
func TestNothingIsIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newStage(t, drawSpec(t, 6), 6)
		var since time.Time // of the first refusal; a unit has been free all the time
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 25).Draw(t, "s")) * time.Second)
			w.disturb()
			order := w.order()[:rapid.IntRange(1, len(w.ids)).Draw(t, "asked")]
			if w.pool.Held() >= w.pool.Usable() {
				since = time.Time{}
			}
			w.lapsed = false
			_, whys := w.pull(order)
			if w.pool.Held() >= w.pool.Usable() || w.lapsed {
				since = time.Time{} // the last one is gone, or the one that was kept longest
			}
			for _, why := range whys {
				if why.Rule == OverItsPart && since.IsZero() {
					since = w.now
				}
				w.checkRefusal(why, since)
			}
			if len(whys) > 0 && len(order) == len(w.ids) && w.pool.Held() < w.pool.Usable() {
				t.Fatalf("all were asked, %d of %d are held, nobody may: %+v", w.pool.Held(), w.pool.Usable(), whys)
			}
		}
	})
}

// disturb ends a job, or changes what is wanted or how much there is.
func (w *stage) disturb() {
	id := rapid.SampledFrom(w.ids).Draw(w.T, "id")
	switch rapid.IntRange(0, 9).Draw(w.T, "what") {
	case 0:
		w.pool.SetCapacity(rapid.Int64Range(0, 20).Draw(w.T, "capacity"))
	case 1:
		w.pool.SetExternal(30, rapid.Int64Range(0, 30).Draw(w.T, "used"), w.pool.Held())
	case 2:
		w.pool.ClearExternal()
	case 3, 4, 5:
		w.pool.Want(id, rapid.Int64Range(0, 9).Draw(w.T, "want"))
	default:
		if len(w.running) > 0 {
			w.end(rapid.IntRange(0, len(w.running)-1).Draw(w.T, "end"))
		}
	}
}

func (w *stage) checkRefusal(why Refusal, since time.Time) {
	free := w.pool.Usable() - w.pool.Held()
	switch why.Rule {
	case Capacity, External:
		if why.Free > 0 {
			w.Fatalf("%+v, of one unit", why)
		}
	case OverItsPart:
		if _, again := w.pool.Explain(why.ID, 1, w.now); again.Rule == OverItsPart && len(again.KeptFor) == 0 {
			w.Fatalf("%d are free, and kept for nobody: %+v", free, again)
		}
		if most := since.Add(w.pool.spec.MaxHold); why.Until.After(most) || !w.now.Before(most) {
			w.Fatalf("kept until %s at %s, since %s: %+v", why.Until, w.now, since, why)
		}
	default:
		w.Fatalf("%+v", why)
	}
}

// TestTurnover: whoever has everything, and whoever is asked first at every pull, once all jobs have ended that ran at the
// beginning nobody who wants more is below its part rounded down, and nobody comes to be. With equal weights that is
// min(D, units/IDs) at least. In a tree it may be one unit less.
func TestTurnover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.IntRange(1, 7).Draw(t, "ids")
		w := newStage(t, drawSpec(t, ids), ids)
		for w.pool.Held() < w.pool.Capacity() { // by no rule
			w.start(rapid.SampledFrom(w.ids).Draw(t, "holder"))
		}
		for _, id := range w.ids {
			w.pool.Want(id, rapid.Int64Range(0, 30).Draw(t, "want"))
		}
		turn := func(order []string) {
			id := w.running[0]
			w.end(0)
			w.pool.Want(id, w.pool.WantedBy(id)+1) // demands stay
			for got := " "; got != ""; {
				got, _ = w.pull(order)
			}
		}
		for range len(w.running) {
			turn(w.order())
		}
		for range 2 * len(w.running) {
			w.checkFloors()
			turn(w.order())
		}
	})
}

func (w *stage) checkFloors() {
	_, floor := w.pool.allowances()
	for i := range w.pool.members {
		m := &w.pool.members[i]
		least := floor[i]
		if len(w.pool.groups) > 1 {
			least-- // the odd unit of a group goes in turn too
		}
		if _, plain := w.pool.split.(*even); plain {
			least = max(least, min(m.demand(), w.pool.Usable()/int64(len(w.ids))))
		}
		if m.held < least {
			w.Fatalf("%s holds %d, its floor is %d: %+v", m.name, m.held, least, w.pool.Allowances())
		}
	}
}

// TestRotation: with fewer units than IDs of equal weight everybody has its turn, whoever is asked first. IDs of several
// weights have turns in proportion, the lightest too.
func TestRotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.IntRange(2, 8).Draw(t, "ids")
		s := drawSpec(t, ids)
		s.Capacity = rapid.Int64Range(1, int64(ids)).Draw(t, "units")
		w := newStage(t, s, ids)
		most := ids
		if _, plain := w.pool.split.(*even); !plain {
			most = 60 * ids
		}
		waited := map[string]int{}
		for range 4 * most {
			for _, id := range w.ids {
				w.pool.Want(id, 9)
			}
			if w.pool.Held() == w.pool.Capacity() {
				w.end(rapid.IntRange(0, len(w.running)-1).Draw(t, "end"))
			}
			id, whys := w.pull(w.ids)
			if id == "" {
				t.Fatalf("nobody takes the unit: %+v", whys)
			}
			for _, other := range w.ids {
				if waited[other]++; other == id || w.pool.HeldBy(other) > 0 {
					waited[other] = 0
				}
				if waited[other] > most {
					t.Fatalf("%s waits for %d grants: %+v", other, waited[other], w.pool.Allowances())
				}
			}
		}
	})
}

// TestOrderDoesNotMatter: IDs that come in another order get the same, pull by pull.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, 6)
		a, b := newStage(t, s, 6), newStage(t, s, 6)
		for _, id := range b.order() {
			b.pool.Want(id, 0)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id, n := rapid.SampledFrom(a.ids).Draw(t, "id"), rapid.Int64Range(0, 9).Draw(t, "n")
			end, order := rapid.Bool().Draw(t, "end"), a.order()
			var got [2]string
			for k, w := range []*stage{a, b} {
				w.pool.Want(id, n)
				if end && len(w.running) > 0 {
					w.end(0)
				}
				got[k], _ = w.pull(order)
			}
			if got[0] != got[1] || !slices.Equal(a.pool.Allowances(), b.pool.Allowances()) {
				t.Fatalf("%q or %q: %+v or %+v", got[0], got[1], a.pool.Allowances(), b.pool.Allowances())
			}
		}
	})
}
