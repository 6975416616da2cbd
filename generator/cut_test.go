package generator

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
	return size{most: weight{some("inputs", 7), some("events", 90), some("bytes", 900)},
		walltime: float64(some("walltime", 400)), scratch: float64(some("scratch", 2000))}
}

// drawRuns are inputs as the table has them, in rows of any length.
func drawRuns(t *rapid.T, n int) (runs []inputRun) {
	for at := 0; at < n; {
		k := rapid.IntRange(1, n-at).Draw(t, "run")
		r := inputRun{position: int64(at)}
		if rapid.Bool().Draw(t, "sizes") {
			r.sizes = rapid.SliceOfN(rapid.Int64Range(0, 500), k, k).Draw(t, "bytes")
		}
		if rapid.Bool().Draw(t, "events") {
			r.events = rapid.SliceOfN(rapid.Int64Range(0, 300), k, k).Draw(t, "n")
		}
		for i := range k {
			r.names = append(r.names, fmt.Sprint(at+i))
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
		c := cutter{n: int64(n), shared: rapid.Bool().Draw(t, "shared"),
			model: model{seconds: rapid.Float64Range(0, 9).Draw(t, "seconds"), base: 5, output: rapid.Float64Range(0, 9).Draw(t, "output"), disk: true}}
		var events []int64
		for _, r := range runs {
			for i := range r.names {
				e := int64(1)
				if r.events != nil {
					e = max(e, r.events[i])
				}
				events = append(events, e)
			}
		}
		seen := make([]int64, n) // events of each input that are in pieces
		total := weight{}
		for at := 0; !c.over(); at++ {
			k := cutter{at: c.at, n: c.n, shared: c.shared, model: c.model}
			k.load(behind(runs, k.at.position))
			s := drawSize(t)
			pc, ok := k.next(s)
			if !ok {
				t.Fatalf("nothing is cut at %+v of %d", c.at, n)
			}
			total = total.add(pc.ended)
			for _, name := range pc.inputs {
				var i int
				if _, err := fmt.Sscan(name, &i); err != nil {
					t.Fatal(err)
				}
				switch whole := len(pc.inputs) > 1 || pc.weight.events == events[i]; {
				case whole && seen[i] != 0, !whole && seen[i] != pc.firstEvent, i > 0 && seen[i-1] != events[i-1]:
					t.Fatalf("piece %+v, input %d has %d of %d already", pc, i, seen[i], events[i])
				case whole:
					seen[i] = events[i]
				default:
					seen[i] += pc.nEvents
				}
			}
			least := weight{1, 1, pc.weight.bytes}
			if alone := len(pc.inputs) == 1 && (!c.shared || !s.fits(c.model, least)); !alone && !s.fits(c.model, pc.weight) {
				t.Fatalf("%+v is larger than %+v", pc.weight, s)
			}
			c.at = k.at
		}
		want := weight{inputs: int64(n)}
		for i, e := range events {
			if want.events += e; seen[i] != e {
				t.Fatalf("%d of %d events of input %d", seen[i], e, i)
			}
		}
		for _, r := range runs {
			for _, b := range r.sizes {
				want.bytes += b
			}
		}
		if total != want {
			t.Fatalf("cut %+v of %+v", total, want)
		}
	})
}

// behind are the runs from a position on.
func behind(runs []inputRun, at int64) (rest []inputRun) {
	for _, r := range runs {
		low := min(max(at-r.position, 0), int64(len(r.names)))
		if low == int64(len(r.names)) {
			continue
		}
		r.position, r.names = r.position+low, r.names[low:]
		if r.sizes != nil {
			r.sizes = r.sizes[low:]
		}
		if r.events != nil {
			r.events = r.events[low:]
		}
		rest = append(rest, r)
	}
	return rest
}

// An estimate is never 0 while something is left, and right where all pieces are alike.
func TestPiecesLeft(t *testing.T) {
	for _, c := range []struct {
		size   size
		model  model
		rest   weight
		shared bool
		want   int64
	}{
		{size{most: weight{inputs: 3}}, model{}, weight{inputs: 7, events: 7}, false, 3},
		{size{most: weight{events: 100}}, model{}, weight{events: 1001}, true, 11},
		{size{most: weight{bytes: 1000}}, model{}, weight{inputs: 10, events: 10, bytes: 5000}, false, 5},
		{size{most: weight{events: 100}}, model{}, weight{inputs: 10, events: 5000}, true, 50},
		{size{walltime: 3600}, model{seconds: 1.2}, weight{events: 30_000}, true, 10},
		{size{walltime: 3600}, model{seconds: 7200}, weight{inputs: 5, events: 5}, false, 5},
		{size{}, model{}, weight{inputs: 1, events: 1}, false, 1},
	} {
		if got := c.size.pieces(c.model, c.rest, c.shared); got != c.want {
			t.Errorf("%+v of %+v: %d, want %d", c.size, c.rest, got, c.want)
		}
	}
}
