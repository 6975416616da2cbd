package dispatcher

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// valuesOf makes one of the records' columns.
func valuesOf[E, T any](row []E, of func(e *E) T) []T {
	values := make([]T, len(row))
	for i := range row {
		values[i] = of(&row[i])
	}
	return values
}

// oneIfSame is a column that has one value for all, where that is so.
func oneIfSame[T comparable](column []T) []T {
	for _, v := range column {
		if v != column[0] {
			return column
		}
	}
	return column[:min(1, len(column))]
}

func (d *Dispatcher) writeRecords(ctx context.Context, row []pickRecord) error {
	now, first, pull := time.Now(), row[0].number, row[0].asked.pull
	for _, e := range row {
		first, pull = min(first, e.number), min(pull, e.asked.pull)
	}
	levels, ids, words := flat(row)
	int4s := func(of func(e *pickRecord) int32) []int32 { return valuesOf(row, of) }
	int8s := func(of func(e *pickRecord) int64) []int64 { return valuesOf(row, of) }
	args := pgx.StrictNamedArgs{"daemon": row[0].daemon, "version": row[0].version, "turn": first, "pull": pull,
		"level_deficits": levels, "skipped_ids": ids, "skipped_words": words,
		"ms_ago":             int4s(func(e *pickRecord) int32 { return int32(now.Sub(e.at).Milliseconds()) }),
		"lanes":              valuesOf(row, func(e *pickRecord) int16 { return e.lane }),
		"seqs":               int8s(func(e *pickRecord) int64 { return e.seq }),
		"jobs":               int8s(func(e *pickRecord) int64 { return e.job }),
		"queues":             int4s(func(e *pickRecord) int32 { return int32(e.queue) }),
		"shares":             int4s(func(e *pickRecord) int32 { return int32(e.share) }),
		"deficits":           valuesOf(row, func(e *pickRecord) float32 { return e.deficit }),
		"runners_up":         int4s(func(e *pickRecord) int32 { return int32(e.runnerUp) }),
		"runner_up_deficits": valuesOf(row, func(e *pickRecord) float32 { return e.runnerUpDeficit }),
		"candidates":         int4s(func(e *pickRecord) int32 { return e.candidates }),
		"units":              int8s(func(e *pickRecord) int64 { return int64(e.units) }),
		"rounds":             int8s(func(e *pickRecord) int64 { return int64(e.round) }),
		"weights":            int4s(func(e *pickRecord) int32 { return e.weight }),
		"turns":              int4s(func(e *pickRecord) int32 { return int32(e.number - first) }),
		"kinds":              oneIfSame(int4s(func(e *pickRecord) int32 { return int32(e.kind) })),
		"shapes":             oneIfSame(int4s(func(e *pickRecord) int32 { return e.shape })),
		"cores":              oneIfSame(int4s(func(e *pickRecord) int32 { return int32(e.asked.cores) })),
		"mosts":              oneIfSame(int4s(func(e *pickRecord) int32 { return int32(e.asked.most) })),
		"unfits":             oneIfSame(int4s(func(e *pickRecord) int32 { return e.unfit })),
		"barreds":            oneIfSame(int4s(func(e *pickRecord) int32 { return e.barred })),
		"pulls":              oneIfSame(int4s(func(e *pickRecord) int32 { return int32(e.asked.pull - pull) })),
		"floors":             oneIfSame(valuesOf(row, func(e *pickRecord) bool { return e.floor })),
		"attempts":           oneIfSame(int4s(func(e *pickRecord) int32 { return e.attempt })),
		"depths":             oneIfSame(int4s(func(e *pickRecord) int32 { return int32(len(e.levels)) })),
		"skips":              oneIfSame(int4s(func(e *pickRecord) int32 { return int32(len(e.skipped)) })),
	}
	return d.write(ctx, "record_decisions", args)
}

// flat are the lists of all records, one after the other.
func flat(row []pickRecord) (levels []float32, skipped []int32, words string) {
	levels, skipped = []float32{}, []int32{}
	var letters []byte
	for i := range row {
		levels = append(levels, row[i].levels...)
		for _, k := range row[i].skipped {
			skipped, letters = append(skipped, int32(k.share)), append(letters, k.word)
		}
	}
	return levels, skipped, string(letters)
}
