package chain

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/generator/stored"
)

// Of two ways to cut the same into pieces, those of the one that correspond to a piece of the other are just those that have a part of it.
func TestPiecesCorrespond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 200).Draw(t, "total")
		mine := evenCut{split: "events", perJob: rapid.Int64Range(1, 40).Draw(t, "mine"), total: total}
		theirs := evenCut{split: "events", perJob: rapid.Int64Range(1, 40).Draw(t, "theirs"), total: total}
		want := map[[2]int64]bool{} // pairs of pieces that share an event
		for e := range total {
			want[[2]int64{e / mine.perJob, e / theirs.perJob}] = true
		}
		got := 0
		for i := int64(0); i*theirs.perJob < total; i++ {
			for s := mine.pieces(i, theirs); s.Low < s.High; s.Low++ {
				if got++; !want[[2]int64{s.Low, i}] {
					t.Fatalf("piece %d has nothing of %d", s.Low, i)
				}
			}
		}
		if got != len(want) {
			t.Fatalf("%d pairs, want %d", got, len(want))
		}
	})
}

// A bitmap is a set, whatever chunks its members lie in.
func TestBitmapIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits, want := bitmap{}, map[int64]bool{}
		index := rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(chunkBits-20, chunkBits+20))
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			i := index.Draw(t, "index")
			if rapid.Bool().Draw(t, "add") {
				if fresh := bits.add(i); fresh == want[i] {
					t.Fatalf("%d is new: %v", i, fresh)
				}
				want[i] = true
			} else {
				bits.remove(i)
				delete(want, i)
			}
		}
		low := index.Draw(t, "low")
		all := true
		for i := low; i < low+8; i++ {
			if all = all && want[i]; bits.has(i) != want[i] {
				t.Fatalf("it has %d: %v", i, bits.has(i))
			}
		}
		if got := bits.all(stored.Span{Low: low, High: low + 8}); got != all {
			t.Fatalf("it has all from %d on: %v", low, got)
		}
	})
}
