package shares

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestReclaimComesToAnEnd: on random trees everybody asks again and again; victims' jobs go back to ready, and what
// is free is granted: to the claimer first by scope leaf and by rank, as the dispatcher does, else by the tree. It ends,
// before as many jobs were reclaimed as there are twice over, and nobody loses what it is guaranteed.
func TestReclaimComesToAnEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		scopes []string
		bys    []string
	}{
		{"lca ratio", []string{"lca"}, []string{"ratio"}},
		{"parent rank", []string{"parent"}, []string{"rank"}},
		{"leaf", []string{"leaf"}, []string{"ratio", "rank"}},
		{"branches", []string{"parent", "lca"}, []string{"ratio", "rank"}},
		{"any", []string{"leaf", "parent", "lca", "leaf", "", "none"}, []string{"ratio", "rank", ""}},
	} {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			newYard(t, c.scopes, c.bys).reclaimUntilTheEnd()
		}))
	}
}

// yard is a pool with its jobs, running and ready.
type yard struct {
	*rapid.T
	p       *Pool
	c       Units
	ready   map[int][]Units // leaf → sizes
	running []Running
	granted int64
	wider   bool // a job takes the place of one that is as large at least
}

// newYard draws a tree in which the scopes and orders are mixed, and a full pool.
func newYard(t *rapid.T, scopes, bys []string) *yard {
	specs := drawSpecs(t, kind{owned: true, floors: true, caps: true, tiers: true, weightless: true,
		limits: rapid.Bool().Draw(t, "limits")}, rapid.IntRange(1, 4).Draw(t, "depth"))
	drawTerms(t, specs, scopes, bys, true)
	tree, err := Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{T: t, p: NewPool(tree, "default"), ready: map[int][]Units{}, wider: rapid.Bool().Draw(t, "wider")}
	sizes := rapid.SampledFrom([][]Units{{1000}, {1000, 2000}, {1000, 3000, 8000}, {2000, 5000}}).Draw(t, "sizes")
	for _, leaf := range tree.Leaves() {
		for range rapid.IntRange(0, 6).Draw(t, "ready") {
			size := rapid.SampledFrom(sizes).Draw(t, "size")
			y.ready[leaf] = append(y.ready[leaf], size)
			y.p.SetWant(leaf, y.p.Want(leaf)+size)
		}
	}
	y.c = Units(rapid.Int64Range(0, 5).Draw(t, "free")) * 1000
	for _, leaf := range tree.Leaves() {
		for range rapid.IntRange(0, 8).Draw(t, "running") {
			size := rapid.SampledFrom(sizes).Draw(t, "size")
			if y.p.Held(leaf)+size <= y.p.cap[y.p.seatOf[leaf]] {
				y.p.Hold(leaf, size)
				y.start(leaf, size)
				y.c += size
			}
		}
	}
	y.p.SetCapacity(y.c)
	return y
}

// drawTerms gives every share one of the scopes and orders, or that of its parent.
func drawTerms(t *rapid.T, specs []Spec, scopes, bys []string, top bool) {
	for i := range specs {
		specs[i].Plan.Rank = rapid.IntRange(1, 3).Draw(t, "rank")
		if top || rapid.Bool().Draw(t, "other terms") {
			if scope := rapid.SampledFrom(scopes).Draw(t, "scope"); scope != "none" {
				specs[i].Plan.Reclaim = &Reclaim{Scope: scope, By: rapid.SampledFrom(bys).Draw(t, "by")}
			}
		}
		drawTerms(t, specs[i].Children, scopes, bys, false)
	}
}

func (y *yard) start(leaf int, size Units) {
	y.granted++
	y.running = append(y.running, Running{ID: y.granted, Leaf: leaf, Units: size,
		Started: noon.Add(time.Duration(y.granted) * time.Second)})
}

// grant starts the ready job number k of a leaf.
func (y *yard) grant(leaf, k int) {
	size := y.ready[leaf][k]
	y.ready[leaf] = slices.Delete(y.ready[leaf], k, k+1)
	y.start(leaf, size)
	move(y.p, leaf, size)
	y.p.Granted(leaf)
}

// fits is the first ready job of a leaf that what is free has room for; -1 if there is none.
func (y *yard) fits(leaf int) int {
	return slices.IndexFunc(y.ready[leaf], func(size Units) bool {
		_, ok := y.p.Admits(leaf, size)
		return ok && size <= y.c-y.p.Held(0)
	})
}

// pull grants what is free by the targets of the tree.
func (y *yard) pull() {
	for {
		var of Contenders
		for _, leaf := range y.p.tree.Leaves() {
			of.Set(y.p, leaf, y.fits(leaf) >= 0)
		}
		leaf, ok := of.Choose(y.p, y.c)
		if !ok {
			return
		}
		y.grant(leaf, y.fits(leaf))
	}
}

func (y *yard) reclaimUntilTheEnd() {
	jobs := len(y.running)
	for _, ready := range y.ready {
		jobs += len(ready)
	}
	y.pull()
	n := 0
	for any := true; any; {
		any = false
		for _, leaf := range y.p.tree.Leaves() {
			sizes := slices.Compact(slices.Sorted(slices.Values(y.ready[leaf])))
			for _, size := range sizes {
				k := y.reclaim(leaf, size)
				n += k
				any = any || k > 0
			}
		}
		if n > 2*jobs {
			y.Fatalf("no end after %d reclaimed jobs, there are %d", n, jobs)
		}
	}
}

// reclaim has a leaf ask back units for its jobs of one size, and returns how many jobs ended.
func (y *yard) reclaim(leaf int, size Units) int {
	terms := y.p.tree.ReclaimOf(leaf)
	if terms == nil {
		return 0
	}
	want := Units(0)
	for _, s := range y.ready[leaf] {
		if s == size {
			want += size
		}
	}
	ask := Ask{Leaf: leaf, Units: want - (y.c-y.p.Held(0))/size*size, Job: size, Terms: *terms}
	var jobs []Running
	for _, j := range y.running {
		if !y.wider || j.Units >= size {
			jobs = append(jobs, j)
		}
	}
	victims := y.p.Victims(y.c, ask, jobs, noon.Add(time.Hour))
	gained := Units(0)
	for _, v := range victims {
		y.evict(v, leaf)
		gained += v.Units
	}
	for terms.Scope == "leaf" || terms.By == "rank" {
		k := slices.Index(y.ready[leaf], size)
		if _, ok := y.p.Admits(leaf, size); gained < size || k < 0 || !ok {
			break
		}
		y.grant(leaf, k)
		gained -= size
	}
	y.pull()
	return len(victims)
}

func (y *yard) evict(v Running, claimer int) {
	move(y.p, v.Leaf, -v.Units)
	y.ready[v.Leaf] = append(y.ready[v.Leaf], v.Units)
	y.running = slices.DeleteFunc(y.running, func(j Running) bool { return j.ID == v.ID })
	a, b := y.p.tree.Part(claimer, v.Leaf)
	for n := v.Leaf; a != b; n = y.p.tree.Nodes[n].Parent {
		if low := y.p.guaranteed(n); float64(y.p.Held(n)) < low {
			y.Fatalf("%q is left with %v of %v", y.p.tree.Nodes[n].Path, y.p.Held(n), low)
		}
		if n == b {
			break
		}
	}
}
