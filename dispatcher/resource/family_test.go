package resource

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

func TestFamilyOfKeys(t *testing.T) {
	s := spec(4)
	s.Name, s.Keyed = "table", true
	s.Live = []shares.LiveCapacity{{Key: "users", Capacity: 2}}
	f := NewFamily(s)
	orders, users := f.Pool("orders", "north"), f.Pool("users", "north")
	if orders != f.Pool("orders", "south") || orders == users {
		t.Error("pools are not by key")
	}
	if orders.Name() != "table:orders" || orders.Usable() != 4 || users.Usable() != 2 {
		t.Errorf("%s of %d, %s of %d", orders.Name(), orders.Usable(), users.Name(), users.Usable())
	}
	for range 9 {
		take(orders, "Alice")
		take(users, "Alice")
	}
	if orders.Held() != 4 || users.Held() != 2 {
		t.Errorf("%d and %d are held, want all of both", orders.Held(), users.Held())
	}
	if _, why := orders.Admits("Alice", 1, noon); why.Resource != "table:orders" || why.Rule != Capacity {
		t.Errorf("%+v", why)
	}
	f.Pool("idle", "")
	if n := f.Sweep(); n != 1 || len(maps.Collect(f.Pools())) != 2 || f.Pool("orders", "") != orders {
		t.Errorf("%d are swept, %d left", n, len(maps.Collect(f.Pools())))
	}
}

func TestFamilyPerQueue(t *testing.T) {
	s := spec(1)
	s.Name, s.PerQueue = "scratch", true
	s.Live = []shares.LiveCapacity{{Queue: "south", Capacity: 3}}
	f := NewFamily(s)
	for _, queue := range []string{"south", "north", "south", "north", "south"} {
		take(f.Pool("", queue), "Alice")
	}
	held := map[[2]string]int64{}
	var order [][2]string
	for at, p := range f.Pools() {
		held[at] = p.Held()
		order = append(order, at)
	}
	if !maps.Equal(held, map[[2]string]int64{{"", "north"}: 1, {"", "south"}: 3}) || order[0][1] != "north" {
		t.Errorf("held is %v, in the order %v", held, order)
	}
	if f.Pool("key", "north") != f.Pool("", "north") {
		t.Error("a key makes another pool")
	}
}

// take wants, asks for and takes a unit.
func take(p *Pool, id string) bool {
	p.Want(id, p.WantedBy(id)+1)
	return give(p, id, noon)
}

// TestFamilyChange: a new version keeps what is held, how long each waited and what the outside said.
func TestFamilyChange(t *testing.T) {
	f := NewFamily(spec(10))
	before := f.Pool("", "")
	for _, id := range []string{"Ben", "Ann", "Ann"} {
		take(before, id)
	}
	before.SetExternal(8, 3, 3)
	next := spec(20)
	next.Split.Tree = []Node{{Name: "g", Weight: 1, Children: []Node{{Name: "Ann", Weight: 1}}}}
	f.Change(next)
	p := f.Pool("", "")
	if p == before || p.Held() != 3 || p.HeldBy("Ann") != 2 || p.WantedBy("Ann") != 0 || p.Capacity() != 20 || p.Usable() != 8 || f.Spec().Capacity != 20 {
		t.Errorf("%+v", p)
	}
	want := []Allowance{{ID: "Ann", Weight: 1, Held: 2, Allowance: 2}, {ID: "Ben", Weight: 1, Held: 1, Allowance: 1, Waited: 2}}
	if got := p.Allowances(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p.groups[1].last != 3 || p.groups[0].last != 3 {
		t.Errorf("the group was granted something at %d, all at %d", p.groups[1].last, p.groups[0].last)
	}
}

// TestChangeOfPlaces: where queues have units of their own no more, what was said of those of one queue is said of nothing.
func TestChangeOfPlaces(t *testing.T) {
	s := spec(10)
	s.PerQueue = true
	f := NewFamily(s)
	for _, queue := range []string{"north", "south"} {
		take(f.Pool("", queue), "Ann")
		f.Pool("", queue).SetExternal(3, 1, 0)
	}
	f.Change(spec(10))
	if p := f.Pool("", ""); p.Usable() != 10 || p.HeldBy("Ann") != 2 {
		t.Errorf("%d of 10 units are usable, Ann holds %d", p.Usable(), p.HeldBy("Ann"))
	}
}

// TestKeptMarks: the list of marks is bounded, whatever comes.
func TestKeptMarks(t *testing.T) {
	var k kept
	for n := range int64(10_000) {
		k.note(noon.Add(time.Duration(n)*time.Millisecond), n)
	}
	if len(k.marks) != mostMarks || k.units != 9999 || k.ended(noon.Add(time.Minute+time.Millisecond), time.Minute) != 1 {
		t.Errorf("%d marks of %d units, %d ended", len(k.marks), k.units, k.ended(noon.Add(time.Minute+time.Millisecond), time.Minute))
	}
	if at := k.until(3, time.Minute); !at.Equal(noon.Add(time.Minute + 3*time.Millisecond)) {
		t.Errorf("three units are free at %s", at)
	}
	k.use(2)
	k.trim(4)
	if k.units != 4 || !k.marks[0].since.Equal(noon.Add(3*time.Millisecond)) || len(k.marks) != 4 {
		t.Errorf("%+v", k)
	}
	k.trim(-1)
	if k.units != 0 || len(k.marks) != 0 {
		t.Errorf("%+v", k)
	}
}
