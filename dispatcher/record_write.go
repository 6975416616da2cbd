package dispatcher

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// diaryPage is what goes into the next rows of a daemon's diary.
type diaryPage struct {
	daemon  int64
	entries []entry
}

// rowEntries bounds a row of the diary.
const rowEntries = 4096

// writeDiary writes a page. What cannot be written is lost: the diary breaks off, and goes on with a stand as soon as it
// can. A replay sees by the numbers of the rows that one is missing: a number is left out even if the row that failed was
// written after all, since those after it were not.
func (d *Dispatcher) writeDiary(ctx context.Context, p diaryPage) (err error) {
	rs := &d.records
	if rs.of != p.daemon {
		rs.of, rs.nth = p.daemon, 0
	}
	for len(p.entries) > 0 && err == nil {
		row := p.entries[:min(rowEntries, len(p.entries))]
		p.entries = p.entries[len(row):]
		rs.nth++
		err = d.onDay(ctx, func() error { return d.writeEntries(ctx, p.daemon, rs.nth, row) })
	}
	if err != nil {
		rs.nth++
		d.mu.Lock()
		defer d.mu.Unlock()
		d.state.diary.breakOff(entriesLost)
	}
	return err
}

func (d *Dispatcher) writeEntries(ctx context.Context, daemon, nth int64, row []entry) error {
	now, first, words := time.Now(), row[0].number, make([]byte, len(row))
	for i, e := range row {
		words[i] = e.word
	}
	return d.write(ctx, "record_diary", pgx.StrictNamedArgs{"daemon": daemon, "nth": nth, "turn": first, "words": string(words),
		"turns":   valuesOf(row, func(e *entry) int32 { return int32(e.number - first) }),
		"ms_ago":  oneIfSame(valuesOf(row, func(e *entry) int32 { return int32(now.Sub(e.at).Milliseconds()) })),
		"refs":    oneIfSame(valuesOf(row, func(e *entry) int64 { return e.ref })),
		"shares":  oneIfSame(valuesOf(row, func(e *entry) int32 { return e.share })),
		"shapes":  oneIfSame(valuesOf(row, func(e *entry) int32 { return e.shape })),
		"queues":  oneIfSame(valuesOf(row, func(e *entry) int32 { return e.queue })),
		"amounts": valuesOf(row, func(e *entry) int64 { return e.amount }),
	})
}
