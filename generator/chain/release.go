package chain

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/internal/pg"
)

// partner is a task that pieces of another one wait for; the other one itself has place -1.
type partner struct {
	Place   int
	TaskID  int64
	AnyEnd  bool // its pieces count as soon as they are over, whatever way
	Halved  bool // some have become two
	Split   string
	PerJob  int64
	NEvents int64
	NInputs int64
	NPieces int64
}

func (p *partner) cut() evenCut {
	return evenCut{split: p.Split, perJob: p.PerJob, total: cutTotal(p.Split, p.NEvents, p.NInputs, p.NPieces)}
}

// half is the second half of a piece, or of a part of one.
type half struct {
	TaskID int64
	Idx    int64
	Piece  int64
	Again  bool // its piece had been over before
}

// counts says whether the piece is not over before this part is. What counts whatever its end has counted for good.
func (p *partner) counts(h half) bool { return !p.AnyEnd || !h.Again }

// release finds the pieces of the task of which all parts are there now, in every task that they wait for: since one of these
// parts has just come, none of them was found before.
func (d *dueNeed) release(ctx context.Context, tx pgx.Tx, fresh []endedJob) error {
	partners, err := pg.Collect[partner](ctx, tx, query["read_partners"], pgx.StrictNamedArgs{"task": d.TaskID})
	if err != nil {
		return err
	}
	var own evenCut
	var needed partner
	for _, p := range partners {
		switch p.Place {
		case -1:
			own = p.cut()
		case d.Place:
			needed = p
		}
	}
	partners = slices.DeleteFunc(partners, func(p partner) bool { return p.Place < 0 })
	ended, err := needed.pieces(ctx, tx, fresh)
	if err != nil {
		return err
	}
	maybe := map[int64]bool{}
	for _, piece := range ended {
		for s := own.pieces(piece, needed.cut()); s.Low < s.High; s.Low++ {
			maybe[s.Low] = true
		}
	}
	pieces := slices.Sorted(maps.Keys(maybe))
	if len(pieces) == 0 {
		return nil
	}
	known, err := d.known(ctx, tx, partners, func(p evenCut) stored.Span {
		return stored.Span{Low: p.pieces(pieces[0], own).Low, High: p.pieces(pieces[len(pieces)-1], own).High}
	})
	if err != nil {
		return err
	}
	pieces = slices.DeleteFunc(pieces, func(piece int64) bool {
		return slices.ContainsFunc(partners, func(p partner) bool { return !known[p.Place].all(p.cut().pieces(piece, own)) })
	})
	if len(pieces) == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, query["release"], pgx.StrictNamedArgs{"task": d.TaskID, "pieces": pieces})
	return err
}

// pieces are those that ended jobs have a part of.
func (p *partner) pieces(ctx context.Context, tx pgx.Tx, ended []endedJob) (pieces []int64, err error) {
	var indexes []int64
	for _, e := range ended {
		if e.Idx < split.FirstHalf {
			pieces = append(pieces, e.Idx)
		} else {
			indexes = append(indexes, e.Idx)
		}
	}
	if len(indexes) == 0 {
		return pieces, nil
	}
	halves, err := pg.Collect[half](ctx, tx, query["pieces_of_halves"], pgx.StrictNamedArgs{"task": p.TaskID, "indexes": indexes})
	for _, h := range halves {
		if p.counts(h) {
			pieces = append(pieces, h.Piece)
		}
	}
	return pieces, err
}

// known reads which pieces of the partners are over, all parts of them, in the span that is asked of each.
func (d *dueNeed) known(ctx context.Context, tx pgx.Tx, partners []partner, of func(evenCut) stored.Span) (map[int]bitmap, error) {
	var w bitsWanted
	var tasks, lows, highs []int64
	for _, p := range partners {
		s := of(p.cut())
		w.addSpan(p.Place, s)
		if p.Halved {
			tasks, lows, highs = append(tasks, p.TaskID), append(lows, s.Low), append(highs, s.High)
		}
	}
	var halves []half
	if len(tasks) > 0 {
		var err error
		if halves, err = pg.Collect[half](ctx, tx, query["read_halves"], pg.Args{"tasks": tasks, "lows": lows, "highs": highs}); err != nil {
			return nil, err
		}
	}
	place := map[int64]partner{} // a task is needed once
	for _, p := range partners {
		place[p.TaskID] = p
	}
	for _, h := range halves {
		w.add(place[h.TaskID].Place, h.Idx)
	}
	known, err := w.read(ctx, tx, d.TaskID)
	if err != nil {
		return nil, err
	}
	for _, h := range halves {
		p := place[h.TaskID]
		if p.counts(h) && !known[p.Place].has(h.Idx) {
			known[p.Place].remove(h.Piece)
		}
	}
	return known, nil
}

// Released reads which pieces of tasks come next, of a span of those that may be jobs.
func Released(ctx context.Context, tx pgx.Tx, spans map[int64]stored.Span) (map[int64][]int64, error) {
	var ids, lows, highs []int64
	for id, s := range spans {
		ids, lows, highs = append(ids, id), append(lows, s.Low), append(highs, s.High)
	}
	rows, _ := tx.Query(ctx, query["read_released"], pgx.StrictNamedArgs{"tasks": ids, "lows": lows, "highs": highs}) // its error is ForEachRow's
	pieces := map[int64][]int64{}
	var task, position int64
	var run []int64
	_, err := pgx.ForEachRow(rows, []any{&task, &position, &run}, func() error {
		low, high := spans[task].Within(position, int64(len(run)))
		pieces[task] = append(pieces[task], run[low:high]...)
		run = nil
		return nil
	})
	return pieces, err
}
