package generator

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/shares"
)

// lotCut is what a batch takes of a lot.
type lotCut struct {
	*split.Lot
	ns   []int64 // pieces by size, at most
	most int64   // all together
}

// allotLots spreads what is left of a batch over the lots of a task, and then over jobs that try again. Scouts come from all lots.
func allotLots(t sourceTask, lots []*split.Lot, wants map[broker.Rung]int64, batch int64) part {
	p := part{sourceTask: t, after: t.RetryAfter}
	left := t.NJobs - t.NGenerated
	again := left - min(left, t.NPieces-t.NSplit)
	batch = min(batch, t.Quota-t.NGenerated)
	fresh := min(left-again, batch)
	open := int64(0)
	for _, l := range lots {
		if !l.Over() {
			open++
		}
	}
	for _, l := range lots {
		if l.Over() {
			continue
		}
		c := lotCut{Lot: l, most: min(fresh, batch, l.PiecesLeft)}
		if t.Scouting {
			c.most = min(c.most, spec.Ceil(fresh, open))
		}
		open--
		total := int64(0)
		for _, shape := range l.ShapeIDs {
			r := broker.Rung{Shape: shape, Priority: t.Priority, User: t.UserName}
			n := min(wants[r], c.most)
			wants[r] -= n
			c.ns, total = append(c.ns, n), total+n
		}
		if c.most = min(c.most, total); c.most > 0 {
			p.cuts = append(p.cuts, c)
			p.fresh, fresh, batch = p.fresh+c.most, fresh-c.most, batch-c.most
		}
	}
	if len(lots) > 0 && again > 0 {
		r := broker.Rung{Shape: lots[0].ShapeIDs[0], Priority: t.Priority, User: t.UserName}
		p.again = max(0, min(again, wants[r], batch))
		wants[r] -= p.again
	}
	return p
}

// lotCutter makes the jobs of a batch that come from lots.
type lotCutter struct {
	tx     pgx.Tx
	share  shares.ShareID
	queues []shares.Queue
	spec   *spec.Spec
	shapes map[split.Room]int32 // of pieces that do not keep to a size
}

// lotCutter is nil where nothing of a batch comes from lots.
func (g *Generator) lotCutter(ctx context.Context, tx pgx.Tx, plan []part, share shares.ShareID) (*lotCutter, error) {
	if !slices.ContainsFunc(plan, func(p part) bool { return len(p.cuts) > 0 }) {
		return nil, nil
	}
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return &lotCutter{tx: tx, share: share, queues: st.Queues}, nil
}

// cutLots makes the jobs of one task, and notes how many there were and what that makes of its number of pieces.
func (c *lotCutter) cutLots(ctx context.Context, p *part) (jobs []intake.NewJob, err error) {
	if c.spec, err = readSized(ctx, c.tx, p.ID); err != nil {
		return nil, err
	}
	for _, cut := range p.cuts {
		left := cut.PiecesLeft
		made, err := c.cut(ctx, cut, p, p.NSplit+int64(len(jobs)))
		if err != nil {
			return nil, fmt.Errorf("task %d, lot %d: %w", p.ID, cut.Number, err)
		}
		jobs = append(jobs, made...)
		p.more += cut.PiecesLeft + int64(len(made)) - left
	}
	p.fresh = int64(len(jobs))
	return jobs, nil
}

// cut takes pieces off one lot; index is that of the first.
func (c *lotCutter) cut(ctx context.Context, l lotCut, p *part, index int64) ([]intake.NewJob, error) {
	plan, err := planLot(ctx, c.tx, l.Lot, c.spec, c.queues)
	if err != nil {
		return nil, err
	}
	c.shapes = map[split.Room]int32{}
	rest := l.Rest(c.spec.Events != nil)
	each := min(rest.Inputs/max(l.PiecesLeft, 1)+1, spec.MaxPerJob)
	pieces, err := c.pieces(ctx, l, &plan, each*l.most*3/2+split.RunInputs)
	if err == nil && len(pieces) == 0 { // a piece may take as many as this
		pieces, err = c.pieces(ctx, l, &plan, spec.MaxPerJob+1)
	}
	if err != nil {
		return nil, err
	}
	jobs := make([]intake.NewJob, len(pieces))
	for i, pc := range pieces {
		j := p.job(c.share, index+int64(i))
		j.Inputs, j.FirstEvent, j.Events = pc.Inputs, pc.FirstEvent, pc.NEvents
		if j.Shape, err = c.shape(ctx, &plan, pc); err != nil {
			return nil, err
		}
		jobs[i] = j
		l.CutBytes, l.CutEvents = l.CutBytes+pc.Ended.Bytes, l.CutEvents+pc.Ended.Events
	}
	l.Estimate(c.spec, &plan)
	return jobs, nil
}

// mostInputs bounds what one batch reads of a lot.
const mostInputs = 100_000

// pieces cuts what the next inputs make, up to what is wanted of each size in turn, and moves the cursor.
func (c *lotCutter) pieces(ctx context.Context, l lotCut, p *split.Plan, inputs int64) (pieces []split.Piece, err error) {
	k := split.Cutter{At: split.Cursor{Position: l.Cut, Skip: l.Skip}, N: l.N, Shared: p.Shared, Model: p.Model, Rooms: p.Scratches(), Plain: c.spec.Events != nil}
	if !k.Plain {
		runs, err := readLot(ctx, c.tx, l.Lot, min(inputs, mostInputs))
		if err != nil {
			return nil, err
		}
		k.Load(runs)
	}
	ns := make([]int64, len(p.Sizes)) // a site that changed meanwhile may have made more sizes, or fewer
	for i, n := range l.ns {
		ns[min(i, len(ns)-1)] += n
	}
	for more := true; more && int64(len(pieces)) < l.most; {
		more = false
		for i, s := range p.Sizes {
			if ns[i] == 0 || int64(len(pieces)) == l.most {
				continue
			}
			pc, ok := k.Next(s)
			if !ok {
				break
			}
			more, pc.Size = true, i
			ns[i]--
			pieces = append(pieces, pc)
		}
	}
	l.Cut, l.Skip = k.At.Position, k.At.Skip
	return pieces, nil
}

// readLot reads so many inputs of a lot from its cursor on.
func readLot(ctx context.Context, tx pgx.Tx, l *split.Lot, n int64) ([]split.Run, error) {
	first := int64(l.Number) << split.LotShift
	at := stored.Span{Low: first + l.Cut, High: first + min(l.Cut+n, l.N)}
	rows, err := tx.Query(ctx, query["read_lot"], pgx.StrictNamedArgs{"task": l.TaskID, "first": first, "low": at.Low, "high": at.High, "run": split.RunInputs})
	if err != nil {
		return nil, err
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r split.Run, err error) {
		err = row.Scan(&r.Task, &r.Position, &r.Names, &r.Sizes, &r.Events)
		low, high := at.Within(r.Position, int64(len(r.Names)))
		r.Position, r.Names = r.Position+low, r.Names[low:high]
		if r.Sizes != nil {
			r.Sizes = r.Sizes[low:high]
		}
		if r.Events != nil {
			r.Events = r.Events[low:high]
		}
		return r, err
	})
	return runs, err
}

// shape of a piece: that of its size, or one of its own where it needs more.
func (c *lotCutter) shape(ctx context.Context, p *split.Plan, pc split.Piece) (int32, error) {
	s := p.Sizes[pc.Size]
	own := p.NeedOf(pc.Weight)
	if own.WalltimeS <= s.Need.Walltime && own.DiskMB <= s.Need.Scratch {
		return s.Shape, nil
	}
	if s.Fits(p.Model, pc.Weight) && (s.Walltime > 0 || s.Scratch > 0) {
		return s.Shape, nil
	}
	at := split.Room{Walltime: own.WalltimeS, Scratch: own.DiskMB}
	shape, known := c.shapes[at]
	if known {
		return shape, nil
	}
	shape, err := intake.Intern(ctx, c.tx, own)
	c.shapes[at] = shape
	return shape, err
}

// advanceLots books a batch on the lots that it was cut from.
func advanceLots(ctx context.Context, tx pgx.Tx, plan []part) error {
	var lots []*split.Lot
	var tasks, more []int64
	for _, p := range plan {
		for _, c := range p.cuts {
			lots = append(lots, c.Lot)
		}
		if p.more != 0 {
			tasks, more = append(tasks, p.ID), append(more, p.more)
		}
	}
	if len(lots) > 0 {
		if err := writeLots(ctx, tx, lots); err != nil {
			return err
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, query["resize"], pgx.StrictNamedArgs{"tasks": tasks, "more": more})
	return err
}

// planLot is how the lot is cut, with the shapes of its sizes.
func planLot(ctx context.Context, tx pgx.Tx, l *split.Lot, s *spec.Spec, queues []shares.Queue) (split.Plan, error) {
	p := split.NewPlan(s, l, queues)
	each := float64(l.Bytes) / float64(max(l.Events, 1))
	l.ShapeIDs = l.ShapeIDs[:0:0]
	for i := range p.Sizes {
		need := p.Requirements(p.Sizes[i], each)
		shape, err := intake.Intern(ctx, tx, need)
		if err != nil {
			return p, err
		}
		p.Sizes[i].Shape, p.Sizes[i].Need = shape, split.Room{Walltime: need.WalltimeS, Scratch: need.DiskMB}
		l.ShapeIDs = append(l.ShapeIDs, shape)
	}
	return p, nil
}
