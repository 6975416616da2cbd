package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// diaryRow is a row of a diary.
type diaryRow struct {
	Nth                          int64
	WrittenAt                    time.Time
	Turn                         int64
	Words                        string
	Turns, MsAgo                 []int32
	Refs                         []int64
	ShareIDs, ShapeIDs, QueueIDs []int32
	Amounts                      []int64
}

// unpack makes the entries of a row.
func (r diaryRow) unpack() []entry {
	list := make([]entry, len(r.Words))
	for i := range list {
		list[i] = entry{word: r.Words[i], number: r.Turn + int64(r.Turns[i]), ref: nth(r.Refs, i), share: nth(r.ShareIDs, i),
			shape: nth(r.ShapeIDs, i), queue: nth(r.QueueIDs, i), amount: r.Amounts[i],
			at: r.WrittenAt.Add(-time.Duration(nth(r.MsAgo, i)) * time.Millisecond)}
	}
	return list
}

// decisionsRow is a row of decision records.
type decisionsRow struct {
	WrittenAt        time.Time
	Version          int64
	Turn             int64
	MsAgo            []int32
	JobIDs           []int64
	QueueIDs         []int32
	ShareIDs         []int32
	Deficits         []float32
	RunnerUpIDs      []int32
	RunnerUpDeficits []float32
	Candidates       []int32
	Units, Rounds    []int64
	Weights, Turns   []int32
	Kinds, Shapes    []int32
	Floors           []bool
}

// pastPick is a decision as it was recorded.
type pastPick struct {
	replay.Decision
	kind  int64
	shape int32
	floor bool // it came before its turn by one
}

// unpack makes the records of a row. Those of an older daemon have number 0.
func (r decisionsRow) unpack(daemon int64) []pastPick {
	list := make([]pastPick, len(r.JobIDs))
	for i := range list {
		p := &list[i]
		p.Decision = replay.Decision{At: r.WrittenAt.Add(-time.Duration(r.MsAgo[i]) * time.Millisecond), Daemon: daemon, Version: r.Version,
			Job: r.JobIDs[i], Queue: shares.QueueID(r.QueueIDs[i]), Share: shares.ShareID(r.ShareIDs[i]),
			RunnerUp: shares.ShareID(r.RunnerUpIDs[i]), Round: shares.Units(r.Rounds[i]), Units: shares.Units(r.Units[i]),
			Candidates: int(r.Candidates[i]), Deficit: r.Deficits[i], RunnerUpDeficit: r.RunnerUpDeficits[i], Weight: int(r.Weights[i])}
		if len(r.Turns) > i {
			p.Number, p.kind, p.shape = r.Turn+int64(r.Turns[i]), int64(nth(r.Kinds, i)), nth(r.Shapes, i)
			p.floor = nth(r.Floors, i)
		}
	}
	return list
}

// pastPages reads what a daemon recorded, a few rows at a time.
type pastPages struct {
	db           querier
	daemon       int64
	since, until time.Time

	nth      int64     // of the last row of the diary
	at       time.Time // of the last row of records
	number   int64
	upTo     int64 // number of the last entry of the diary
	diaryEnd bool
	picksEnd bool
}

// lateBy is how much later than it was made a record may have been written.
const lateBy = 2 * time.Minute

// begin finds where to begin.
func (p *pastPages) begin(ctx context.Context) error {
	rows, err := p.db.Query(ctx, query["past_begin"], pgx.StrictNamedArgs{"daemon": p.daemon, "since": p.since, "until": p.until})
	if err != nil {
		return fmt.Errorf("past_begin: %w", err)
	}
	if p.nth, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64]); err != nil {
		return fmt.Errorf("past_begin: %w", err)
	}
	p.diaryEnd = p.nth == 0
	p.nth--
	p.at = p.since.Add(-time.Hour)
	return nil
}

// nextDiary reads on. Where rows are missing there is an entry that breaks off, right after the last one before them: what
// was decided from there on was decided with what they held.
func (p *pastPages) nextDiary(ctx context.Context) (list []entry, err error) {
	rows, err := collect[diaryRow](ctx, p.db, "past_diary", pgx.StrictNamedArgs{"daemon": p.daemon, "nth": p.nth,
		"since": p.since.Add(-time.Hour), "until": p.until.Add(lateBy)})
	if err != nil {
		return nil, err
	}
	p.diaryEnd = len(rows) == 0
	for _, r := range rows {
		if r.Nth != p.nth+1 {
			list = append(list, entry{word: wordBroken, number: p.upTo, ref: entriesLost, at: r.WrittenAt})
		}
		p.nth = r.Nth
		list = append(list, r.unpack()...)
		p.upTo = list[len(list)-1].number
	}
	return list, nil
}

// nextPicks reads on.
func (p *pastPages) nextPicks(ctx context.Context) (list []pastPick, err error) {
	rows, err := collect[decisionsRow](ctx, p.db, "past_decisions", pgx.StrictNamedArgs{"daemon": p.daemon, "at": p.at, "turn": p.number,
		"until": p.until.Add(lateBy)})
	if err != nil {
		return nil, err
	}
	p.picksEnd = len(rows) == 0
	for _, r := range rows {
		p.at, p.number = r.WrittenAt, r.Turn
		list = append(list, r.unpack(p.daemon)...)
	}
	return list, nil
}
