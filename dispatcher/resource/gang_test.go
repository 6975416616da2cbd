package resource

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFit(t *testing.T) {
	gpu := map[string]string{"gpu": "yes"}
	for _, c := range []struct {
		name   string
		needs  []Need
		rooms  []Room
		ok     bool
		misfit string
		never  bool
	}{
		{name: "nobody", ok: true},
		{name: "one room for all", needs: cores(4, 2, 2), rooms: rooms(8), ok: true},
		{name: "no room at all", needs: cores(1), misfit: "n0 1", never: true},
		{name: "a room each", needs: cores(1, 1, 1), rooms: rooms(1, 1, 1), ok: true},
		{name: "one room short", needs: cores(1, 1, 1), rooms: rooms(1, 1), misfit: "n2 1"},
		{name: "largest first", needs: cores(1, 1, 4), rooms: rooms(4, 2), ok: true},
		{name: "the tightest room is not always right", needs: cores(5, 4, 3, 3), rooms: rooms(6, 9), ok: true},
		{name: "best fit alone would fail", needs: cores(6, 5, 4, 3, 2), rooms: rooms(10, 10), ok: true},
		{name: "enough cores, in the wrong places", needs: cores(3, 3), rooms: rooms(4, 2), misfit: "n1 3"},
		{name: "larger than any room", needs: cores(1, 9), rooms: rooms(8, 8), misfit: "n1 9", never: true},
		{name: "memory", needs: []Need{{Name: "a", Cores: 1, MemoryMB: 3000}, {Name: "b", Cores: 1, MemoryMB: 2000}}, rooms: []Room{{Cores: 2, MemoryMB: 4000}}, misfit: "b"},
		{name: "memory that nobody stated", needs: []Need{{Name: "a", Cores: 1, MemoryMB: 3000}, {Name: "b", Cores: 1, MemoryMB: 2000}}, rooms: []Room{{Cores: 2}}, ok: true},
		{name: "disk", needs: []Need{{Name: "a", DiskMB: 10}, {Name: "b", DiskMB: 10}}, rooms: []Room{{DiskMB: 15}, {DiskMB: 9}}, misfit: "b"},
		{name: "walltime is not used up", needs: []Need{{Name: "a", WalltimeS: 100}, {Name: "b", WalltimeS: 100}}, rooms: []Room{{WalltimeS: 100}}, ok: true},
		{name: "walltime", needs: []Need{{Name: "a", WalltimeS: 100}}, rooms: []Room{{WalltimeS: 99}}, misfit: "a", never: true},
		{name: "labels", needs: []Need{{Name: "a", Cores: 2}, {Name: "b", Cores: 2, Labels: gpu}}, rooms: []Room{{Cores: 2, Labels: gpu}, {Cores: 2}}, ok: true},
		{name: "one job at a time", needs: cores(1, 1, 1), rooms: []Room{{Cores: 8, Jobs: 1}, {Cores: 8, Jobs: 1}}, misfit: "n2 1"},
		{name: "two jobs at a time", needs: cores(1, 1, 1), rooms: []Room{{Cores: 8, Jobs: 1}, {Cores: 8, Jobs: 2}}, ok: true},
		{name: "a label that is nowhere", needs: []Need{{Name: "a", Labels: gpu}}, rooms: []Room{{Cores: 2}}, misfit: "a", never: true},
	} {
		f := Fit(c.needs, c.rooms)
		misfit := ""
		if f.Misfit >= 0 {
			misfit = c.needs[f.Misfit].Name
		}
		if f.OK() != c.ok && len(c.needs) > 0 || misfit != c.misfit && !c.ok || f.Never != c.never || f.Given {
			t.Errorf("%s: %+v, misfit %q", c.name, f, misfit)
		}
		if f.OK() {
			if err := inPlace(c.needs, c.rooms, f.At); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

func cores(n ...int64) (needs []Need) {
	for i, c := range n {
		needs = append(needs, Need{Name: fmt.Sprintf("n%d %d", i, c), Cores: c})
	}
	return needs
}

func rooms(n ...int64) (rooms []Room) {
	for _, c := range n {
		rooms = append(rooms, Room{Cores: c})
	}
	return rooms
}

// inPlace says whether a packing is one.
func inPlace(needs []Need, rooms []Room, at []int) error {
	left := make([]Room, len(rooms))
	for r := range rooms {
		left[r] = rooms[r].stated()
	}
	for i, n := range needs {
		if !left[at[i]].takes(n) {
			return fmt.Errorf("%s does not fit into room %d: %v", n.Name, at[i], at)
		}
		left[at[i]] = left[at[i]].without(n)
	}
	return nil
}

// Fit finds a packing just where there is one, by trying all.
func TestFitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SampledFrom([]map[string]string{nil, nil, {"os": "el9"}})
		figure := rapid.Int64Range(0, 6)
		var needs []Need
		for i := range rapid.IntRange(1, 6).Draw(t, "needs") {
			needs = append(needs, Need{Name: fmt.Sprint(i), Cores: rapid.Int64Range(1, 5).Draw(t, "cores"), MemoryMB: figure.Draw(t, "memory"),
				WalltimeS: rapid.Int64Range(0, 2).Draw(t, "walltime"), Labels: labels.Draw(t, "labels")})
		}
		var rooms []Room
		for range rapid.IntRange(0, 4).Draw(t, "rooms") {
			rooms = append(rooms, Room{Cores: rapid.Int64Range(1, 9).Draw(t, "cores"), MemoryMB: figure.Draw(t, "memory"),
				WalltimeS: rapid.Int64Range(0, 2).Draw(t, "walltime"), Jobs: rapid.Int64Range(0, 3).Draw(t, "jobs"), Labels: labels.Draw(t, "labels")})
		}
		f := Fit(needs, rooms)
		if got, want := f.OK(), fitsAnyhow(needs, rooms); got != want || f.Given {
			t.Fatalf("%+v, want %v", f, want)
		}
		if f.OK() {
			if err := inPlace(needs, rooms, f.At); err != nil {
				t.Fatal(err)
			}
			return
		}
		alone := slices.ContainsFunc(rooms, func(r Room) bool { return r.stated().takes(needs[f.Misfit]) })
		if f.Never == alone {
			t.Fatalf("%+v: the misfit fits alone: %v", f, alone)
		}
	})
}

func fitsAnyhow(needs []Need, rooms []Room) bool {
	at := make([]int, len(needs))
	for {
		if len(rooms) > 0 && inPlace(needs, rooms, at) == nil {
			return true
		}
		i := 0
		for ; i < len(at); i++ {
			if at[i]++; at[i] < len(rooms) {
				break
			}
			at[i] = 0
		}
		if i == len(at) {
			return false
		}
	}
}

// The worst that a search can be asked ends within its bound: many needs that just do not fit.
func TestFitIsBounded(t *testing.T) {
	var needs []Need
	for i := range 40 {
		needs = append(needs, Need{Name: fmt.Sprint(i), Cores: int64(30 + i%13), MemoryMB: int64(20 + i%7)})
	}
	var rooms []Room
	for i := range 20 {
		rooms = append(rooms, Room{Cores: int64(72 + i%3), MemoryMB: int64(46 + i%5)})
	}
	f := Fit(needs, rooms)
	if f.nLooked > maxLooks {
		t.Errorf("%d looks", f.nLooked)
	}
	if !f.Given || f.OK() || f.Misfit < 0 {
		t.Errorf("%+v: not given up", f)
	}
	if why := Gather(needs, rooms, rooms, Hold{}, time.Time{}).Why; !strings.HasPrefix(why, "no way was found to fit 40 jobs into the slots of the node, the search ended at ") {
		t.Error(why)
	}
}

func TestGather(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	needs := cores(4, 4)
	node := rooms(4, 4)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	hold := Hold{Most: time.Minute}
	for _, step := range []struct {
		at      int
		offered []Room
		want    GangVerdict
		why     string
	}{
		{0, rooms(4), GangHolds, "slots of the node are held until 12:01:00: n1 4 does not fit into those that are free beside the others"},
		{30, rooms(4), GangHolds, "slots of the node are held until 12:01:00: n1 4 does not fit into those that are free beside the others"},
		{59, rooms(4), GangHolds, "slots of the node are held until 12:01:00: n1 4 does not fit into those that are free beside the others"},
		{60, rooms(4), GangWaits, "the node was held for 1m0s in vain, others have it until 12:02:00; n1 4 does not fit into its free slots beside the others"},
		{119, nil, GangWaits, "the node was held for 1m0s in vain, others have it until 12:02:00; n0 4 fits none of its free slots"},
		{119, rooms(4, 4), GangStarts, ""}, // what fits starts at any time
		{120, rooms(4), GangHolds, "slots of the node are held until 12:03:00: n1 4 does not fit into those that are free beside the others"},
		{150, rooms(8), GangStarts, ""},
	} {
		g := Gather(needs, step.offered, node, hold, at(step.at))
		if g.Verdict != step.want || g.Why != step.why {
			t.Errorf("at %d: %s, %q; want %s, %q", step.at, g.Verdict, g.Why, step.want, step.why)
		}
		hold = g.Hold
		if g.Verdict == GangHolds && !at(step.at).Before(hold.Until()) {
			t.Errorf("at %d: held beyond the bound", step.at)
		}
	}
	for _, c := range []struct {
		needs         []Need
		offered, node []Room
		why           string
	}{
		{cores(4, 4), rooms(4), rooms(4), "n1 4 does not fit into the slots of the node beside the others"},
		{cores(4, 9), rooms(4), rooms(4, 4), "n1 9 fits none of the slots of the node"},
		{nil, rooms(4), rooms(4), "the group has no job left"},
	} {
		if g := Gather(c.needs, c.offered, c.node, Hold{Most: time.Minute}, now); g.Verdict != GangWaits || g.Why != c.why || !g.Hold.Since.IsZero() {
			t.Errorf("%+v, want %q", g, c.why)
		}
	}
}

// What a gang cannot use is not held for it, and of what is alike the first.
func TestUseful(t *testing.T) {
	for _, c := range []struct {
		needs   []Need
		offered []Room
		want    string
	}{
		{cores(1, 1, 1), rooms(1, 1), "[true true]"},
		{cores(1, 1), rooms(1, 1, 1), "[true true false]"},
		{cores(8, 1), rooms(1, 1, 1), "[true false false]"},
		{cores(4, 1), rooms(2, 8), "[true true]"},
		{cores(4, 4), rooms(3, 2), "[false false]"},
		{cores(1, 1), []Room{{Cores: 2, Jobs: 1}, {Cores: 4}}, "[true true]"},
	} {
		if got := fmt.Sprint(Useful(c.needs, c.offered)); got != c.want {
			t.Errorf("%v into %v: %s, want %s", c.needs, c.offered, got, c.want)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	needs := append(cores(slices.Repeat([]int64{8}, 4)...), cores(slices.Repeat([]int64{1}, 32)...)...)
	node := rooms(slices.Repeat([]int64{8}, 8)...)
	b.ReportAllocs()
	for b.Loop() {
		if !Fit(needs, node).OK() {
			b.Fatal("does not fit")
		}
	}
}
