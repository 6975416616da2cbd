package chain

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/generator/stored"
)

func (b bitmap) touched(jobs []endedJob) bitmap {
	some := bitmap{}
	for _, j := range jobs {
		some[j.Idx/chunkBits] = b[j.Idx/chunkBits]
	}
	return some
}

// bitsWanted says which pieces one wants to know about: ranges of indexes, by place of the need. Second halves have indexes far
// behind those of pieces, and a range of their own.
type bitsWanted struct {
	pieces, halves map[int]stored.Span
}

func (w *bitsWanted) add(place int, index int64) {
	w.addSpan(place, stored.Span{Low: index, High: index + 1})
}

func (w *bitsWanted) addSpan(place int, s stored.Span) {
	of := &w.pieces
	if s.Low >= split.FirstHalf {
		of = &w.halves
	}
	if *of == nil {
		*of = map[int]stored.Span{}
	}
	if known, ok := (*of)[place]; ok {
		s = stored.Span{Low: min(s.Low, known.Low), High: max(s.High, known.High)}
	}
	(*of)[place] = s
}

// read reads which of them are taken note of, by place.
func (w *bitsWanted) read(ctx context.Context, tx pgx.Tx, task int64) (map[int]bitmap, error) {
	var places []int
	var lows, highs []int64
	known := map[int]bitmap{}
	for _, spans := range []map[int]stored.Span{w.pieces, w.halves} {
		for _, place := range slices.Sorted(maps.Keys(spans)) {
			s := spans[place]
			places, lows, highs = append(places, place), append(lows, s.Low/chunkBits), append(highs, max(s.High-1, s.Low)/chunkBits)
			known[place] = bitmap{}
		}
	}
	rows, _ := tx.Query(ctx, query["read_need_pieces"], pgx.StrictNamedArgs{"task": task, "places": places, "lows": lows, "highs": highs}) // its error is ForEachRow's
	var place int
	var chunk int64
	var bits []byte
	_, err := pgx.ForEachRow(rows, []any{&place, &chunk, &bits}, func() error {
		known[place][chunk] = slices.Clone(bits)
		return nil
	})
	return known, err
}

func writeBits(ctx context.Context, tx pgx.Tx, task int64, place int, b bitmap) error {
	chunks := slices.Sorted(maps.Keys(b))
	bits := make([][]byte, len(chunks))
	for i, c := range chunks {
		bits[i] = b[c]
	}
	_, err := tx.Exec(ctx, query["write_need_pieces"], pgx.StrictNamedArgs{"task": task, "place": place, "chunks": chunks, "bits": bits})
	return err
}
