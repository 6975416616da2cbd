package resource

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// spec is a resource with so many units.
func spec(capacity int64) Spec {
	s := shares.DefaultResource()
	s.Name, s.Capacity = "it", capacity
	return s
}

// bySolver is the same resource, split by the solver of shares although all weights are 1.
func bySolver(s Spec) *Pool {
	p := NewPool(s)
	p.split = newWeighted(p)
	return p
}

// TestEvenIsTheSolver holds the structure for equal weights to the solver of package shares, through any history.
func TestEvenIsTheSolver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spec(rapid.Int64Range(0, 40).Draw(t, "capacity"))
		s.Exempt = []string{"3"}
		even, solver := NewPool(s), bySolver(s)
		both := []*Pool{even, solver}
		ids := rapid.IntRange(1, 12).Draw(t, "ids")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := strconv.Itoa(rapid.IntRange(0, ids).Draw(t, "id"))
			n := rapid.Int64Range(0, 9).Draw(t, "n")
			what := rapid.IntRange(0, 4).Draw(t, "what")
			for _, p := range both {
				switch what {
				case 0:
					p.Hold(id, n)
				case 1:
					p.Hold(id, -min(n, p.HeldBy(id)))
				case 2:
					p.Want(id, n*n)
				case 3:
					p.Granted(id)
				case 4:
					p.SetCapacity(n * 6)
				}
			}
			same(t, even, solver)
		}
	})
}

func same(t *rapid.T, a, b *Pool) {
	all, want := a.Allowances(), b.Allowances()
	if !slices.Equal(all, want) {
		t.Fatalf("of %d: %+v, want %+v", a.Usable(), all, want)
	}
	for _, al := range all {
		if al.Exempt {
			continue
		}
		is, before := a.split.below(a, a.index[al.ID], noon)
		_, want := b.split.below(b, b.index[al.ID], noon)
		if is != (al.Held < al.Allowance) || is && a.split.(*even).scarce && before != want {
			t.Fatalf("%+v is below its part: %v, behind %d, want %d", al, is, before, want)
		}
	}
}

// TestOrder holds the treap to a sorted list.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := func(i int32) string { return strconv.Itoa(int(i) * 7 % 31) }
		o := newOrder(func(a, b int32) bool { return name(a) < name(b) })
		keys, then := map[int32]int64{}, map[int32]int64{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			i := rapid.Int32Range(0, 30).Draw(t, "i")
			if _, in := keys[i]; in && rapid.Bool().Draw(t, "drop") {
				o.drop(i)
				delete(keys, i)
			} else {
				keys[i] = rapid.Int64Range(1, 9).Draw(t, "key")
				then[i] = rapid.Int64Range(0, 1).Draw(t, "then")
				o.put(i, keys[i], then[i])
			}
			checkOrder(t, &o, keys, then, name)
		}
	})
}

func checkOrder(t *rapid.T, o *order, keys, then map[int32]int64, name func(int32) string) {
	var list []int32
	total := int64(0)
	for i, k := range keys {
		list = append(list, i)
		total += k
	}
	slices.SortFunc(list, func(a, b int32) int {
		if keys[a] != keys[b] {
			return sign(keys[a] < keys[b])
		}
		if then[a] != then[b] {
			return sign(then[a] < then[b])
		}
		return sign(name(a) < name(b))
	})
	if o.len() != int64(len(list)) || o.total() != total {
		t.Fatalf("%d members of %d, want %d of %d", o.len(), o.total(), len(list), total)
	}
	for n, i := range list {
		if got := o.ahead(i, keys[i], then[i]); int(got) != n {
			t.Fatalf("%d has rank %d, want %d", i, got, n)
		}
	}
	for r := int64(0); r < total; r++ {
		q, odd, above := o.level(r)
		sum, more := int64(0), int64(0)
		for _, k := range keys {
			sum += min(k, q)
			if k > q {
				more++
			}
		}
		if sum+odd != r || above != more || odd < 0 || odd >= above {
			t.Fatalf("%d over %v: level %d and %d odd for %d, %d are above", r, keys, q, odd, above, more)
		}
	}
}

// TestForgets: IDs that come and go for good do not pile up, and who stayed is not forgotten.
func TestForgets(t *testing.T) {
	p := NewPool(spec(2))
	p.Want("", 3) // an ID as good as others: of jobs without the label that units are split by
	p.Want("stays", 5)
	p.Granted("stays")
	granted := p.seq
	for n := range 50_000 {
		id := fmt.Sprint("passer-by ", n)
		p.Hold(id, 1)
		p.Granted(id)
		p.Hold(id, -1)
	}
	if len(p.members) > 5*spare || len(p.members) != len(p.index) {
		t.Errorf("%d IDs are remembered, %d in the index", len(p.members), len(p.index))
	}
	if m := p.members[p.index["stays"]]; m.last != granted || m.want != 5 {
		t.Errorf("%+v was granted something at %d", m, granted)
	}
	if p.WantedBy("") != 3 {
		t.Errorf("the ID without a name wants %d", p.WantedBy(""))
	}
	p.Want("", 0)
	if i := p.member("passer-by 1"); p.members[i].last != p.horizon || p.horizon == 0 {
		t.Errorf("who was forgotten has waited since %d, want %d", p.members[i].last, p.horizon)
	}
	p.Want("passer-by 49999", 1)
	if a := p.Allowances(); a[0].ID != "passer-by 49999" || a[0].Waited != 0 || a[0].Allowance != 1 {
		t.Errorf("%+v", a)
	}
}
