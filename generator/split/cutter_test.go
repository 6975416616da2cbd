package split

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// drawSize is any size of pieces.
func drawSize(t *rapid.T) size {
	some := func(name string, most int) int64 {
		return int64(rapid.IntRange(0, most).Draw(t, name) * rapid.IntRange(0, 1).Draw(t, "has "+name))
	}
	return size{most: Weight{some("inputs", 7), some("events", 90), some("bytes", 900)},
		Walltime: float64(some("walltime", 400)), Scratch: float64(some("scratch", 2000))}
}

// drawRuns are inputs as the table has them, in rows of any length.
func drawRuns(t *rapid.T, n int) (runs []Run) {
	for at := 0; at < n; {
		k := rapid.IntRange(1, n-at).Draw(t, "run")
		r := Run{Position: int64(at)}
		if rapid.Bool().Draw(t, "sizes") {
			r.Sizes = rapid.SliceOfN(rapid.Int64Range(0, 500), k, k).Draw(t, "bytes")
		}
		if rapid.Bool().Draw(t, "events") {
			r.Events = rapid.SliceOfN(rapid.Int64Range(0, 300), k, k).Draw(t, "n")
		}
		for i := range k {
			r.Names = append(r.Names, fmt.Sprint(at+i))
		}
		runs, at = append(runs, r), at+k
	}
	return runs
}

// Pieces cover each input and each event exactly once, in order, whatever sizes they are cut by and however little is read at a
// time; none but a single input or event is larger than its size.
func TestPiecesCoverALotExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "inputs of the lot")
		runs := drawRuns(t, n)
		c := Cutter{N: int64(n), Shared: rapid.Bool().Draw(t, "shared"),
			Model: Model{seconds: rapid.Float64Range(0, 9).Draw(t, "seconds"), base: 5, output: rapid.Float64Range(0, 9).Draw(t, "output"), disk: true}}
		var events []int64
		for _, r := range runs {
			for i := range r.Names {
				e := int64(1)
				if r.Events != nil {
					e = max(e, r.Events[i])
				}
				events = append(events, e)
			}
		}
		seen := make([]int64, n) // events of each input that are in pieces
		total := Weight{}
		for at := 0; !c.over(); at++ {
			k := Cutter{At: c.At, N: c.N, Shared: c.Shared, Model: c.Model}
			k.Load(behind(runs, k.At.Position))
			s := drawSize(t)
			pc, ok := k.Next(s)
			if !ok {
				t.Fatalf("nothing is cut at %+v of %d", c.At, n)
			}
			total = total.add(pc.Ended)
			for _, name := range pc.Inputs {
				var i int
				if _, err := fmt.Sscan(name, &i); err != nil {
					t.Fatal(err)
				}
				switch whole := len(pc.Inputs) > 1 || pc.Weight.Events == events[i]; {
				case whole && seen[i] != 0, !whole && seen[i] != pc.FirstEvent, i > 0 && seen[i-1] != events[i-1]:
					t.Fatalf("piece %+v, input %d has %d of %d already", pc, i, seen[i], events[i])
				case whole:
					seen[i] = events[i]
				default:
					seen[i] += pc.NEvents
				}
			}
			least := Weight{1, 1, pc.Weight.Bytes}
			if alone := len(pc.Inputs) == 1 && (!c.Shared || !s.Fits(c.Model, least)); !alone && !s.Fits(c.Model, pc.Weight) {
				t.Fatalf("%+v is larger than %+v", pc.Weight, s)
			}
			c.At = k.At
		}
		want := Weight{Inputs: int64(n)}
		for i, e := range events {
			if want.Events += e; seen[i] != e {
				t.Fatalf("%d of %d events of input %d", seen[i], e, i)
			}
		}
		for _, r := range runs {
			for _, b := range r.Sizes {
				want.Bytes += b
			}
		}
		if total != want {
			t.Fatalf("cut %+v of %+v", total, want)
		}
	})
}

// behind are the runs from a position on.
func behind(runs []Run, at int64) (rest []Run) {
	for _, r := range runs {
		low := min(max(at-r.Position, 0), int64(len(r.Names)))
		if low == int64(len(r.Names)) {
			continue
		}
		r.Position, r.Names = r.Position+low, r.Names[low:]
		if r.Sizes != nil {
			r.Sizes = r.Sizes[low:]
		}
		if r.Events != nil {
			r.Events = r.Events[low:]
		}
		rest = append(rest, r)
	}
	return rest
}

// An estimate is never 0 while something is left, and right where all pieces are alike.
func TestPiecesLeft(t *testing.T) {
	for _, c := range []struct {
		size   size
		model  Model
		rest   Weight
		shared bool
		want   int64
	}{
		{size{most: Weight{Inputs: 3}}, Model{}, Weight{Inputs: 7, Events: 7}, false, 3},
		{size{most: Weight{Events: 100}}, Model{}, Weight{Events: 1001}, true, 11},
		{size{most: Weight{Bytes: 1000}}, Model{}, Weight{Inputs: 10, Events: 10, Bytes: 5000}, false, 5},
		{size{most: Weight{Events: 100}}, Model{}, Weight{Inputs: 10, Events: 5000}, true, 50},
		{size{Walltime: 3600}, Model{seconds: 1.2}, Weight{Events: 30_000}, true, 10},
		{size{Walltime: 3600}, Model{seconds: 7200}, Weight{Inputs: 5, Events: 5}, false, 5},
		{size{}, Model{}, Weight{Inputs: 1, Events: 1}, false, 1},
	} {
		if got := c.size.pieces(c.model, c.rest, c.shared); got != c.want {
			t.Errorf("%+v of %+v: %d, want %d", c.size, c.rest, got, c.want)
		}
	}
}
