package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// What a task is resized to, above what was measured.
const (
	memoryMargin   = 1.1
	walltimeMargin = 1.5
)

// scoutRun is one scout that finished.
type scoutRun struct {
	Events      int64
	CPUS        float64
	Power       float64 // of all its cores
	MemoryMB    int64
	WallS       float64
	OutputBytes float64
}

// scoutedBy is what they come to; way is nil where jobs are not sized by events. As walltime is planned by CPU time, a scout that took
// longer than its CPU time explains counts as if it had computed all the while.
func scoutedBy(runs []scoutRun, way *spec.Split) view.Scouted {
	s := view.Scouted{Finished: len(runs)}
	if len(runs) == 0 {
		return s
	}
	of := func(p float64, figure func(scoutRun) float64) float64 { return percentile(runs, p, figure) }
	perEvent := func(r scoutRun) float64 {
		spent := r.CPUS
		if way != nil {
			spent = max(spent, (r.WallS-float64(way.BaseWalltime))*r.Power*cmp.Or(way.Efficiency, spec.Efficiency))
		}
		return spent / float64(r.Events)
	}
	output := func(r scoutRun) float64 { return r.OutputBytes / split.Megabyte / float64(r.Events) }
	wall := func(r scoutRun) float64 { return math.Ceil(r.WallS) }
	s.CPUPerEvent, s.OutputPerEvent = of(0.95, perEvent), of(0.95, output)
	s.MemoryMB = int64(of(0.75, func(r scoutRun) float64 { return float64(r.MemoryMB) }))
	s.Walltime, s.Longest = spec.Walltime(of(0.75, wall)), spec.Walltime(of(1, wall))
	return s
}

// percentile is the smallest figure that as large a part of the runs does not exceed.
func percentile(runs []scoutRun, p float64, figure func(scoutRun) float64) float64 {
	figures := make([]float64, len(runs))
	for i, r := range runs {
		figures[i] = figure(r)
	}
	slices.Sort(figures)
	return figures[max(int(math.Ceil(p*float64(len(figures))))-1, 0)]
}

// resized is the task by what its scouts measured. Where its jobs are not sized by events they are all as long as the scouts.
func resized(s spec.Spec, m *view.Scouted) spec.Spec {
	if m == nil || m.Finished == 0 {
		return s
	}
	if m.MemoryMB > 0 {
		s.Requirements.MemoryMB = split.RoundedUp(memoryMargin * float64(m.MemoryMB))
	}
	switch {
	case s.Split != nil:
		split := *s.Split
		split.CPUPerEvent = cmp.Or(m.CPUPerEvent, split.CPUPerEvent)
		split.OutputPerEvent = cmp.Or(m.OutputPerEvent, split.OutputPerEvent)
		s.Split = &split
	case m.Walltime > 0:
		s.Requirements.Walltime = spec.Walltime(split.RoundedUp(max(walltimeMargin*float64(m.Walltime), float64(m.Longest))))
	}
	return s
}

// sizedTask is a task with what it was resized by.
type sizedTask struct {
	Spec     *spec.Spec
	Scouted  *view.Scouted
	ShapeID  int32
	InLots   bool
	Scouting bool
}

// readSized returns a task as it is sized now.
func readSized(ctx context.Context, tx pgx.Tx, task int64) (*spec.Spec, error) {
	t, err := readSizedTask(ctx, tx, task)
	if err != nil {
		return nil, err
	}
	s := resized(*t.Spec, t.Scouted)
	return &s, nil
}

func readSizedTask(ctx context.Context, tx pgx.Tx, task int64) (sizedTask, error) {
	rows, err := tx.Query(ctx, query["read_sized"], pgx.StrictNamedArgs{"task": task})
	if err != nil {
		return sizedTask{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[sizedTask])
}

// scout ends the scouting of the next task behind after whose scouts are over; id is 0 when there is none. A task of which a
// scout has failed is exhausted; any other is resized.
func (g *Generator) scout(ctx context.Context, after int64) (id int64, n int, err error) {
	var failed bool
	if err := g.cfg.Pool.QueryRow(ctx, query["next_scouting"], pgx.StrictNamedArgs{"after": after}).Scan(&id, &failed); errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, nil
	}
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("site: %w", err)
	}
	var ended judge.Verdict
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		id, n, ended = 0, 0, judge.Verdict{}
		err := tx.QueryRow(ctx, query["next_scouting"], pgx.StrictNamedArgs{"after": after}).Scan(&id, &failed)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case failed:
			return exhaust(ctx, tx, id)
		}
		n = 1
		ended, err = endScouting(ctx, tx, id, st.Queues)
		return err
	})
	if id > 0 && err == nil {
		g.wrote()
	}
	if n > 0 && err == nil {
		g.report(ended)
		g.hint()
	}
	return id, n, err
}

// exhaust stops a locked task of which a scout has failed, and says which and why.
func exhaust(ctx context.Context, tx pgx.Tx, id int64) error {
	rows, err := tx.Query(ctx, query["failed_scout"], pgx.StrictNamedArgs{"task": id})
	if err != nil {
		return err
	}
	type failure struct {
		ID       int64
		Attempt  int
		Lost     bool
		ExitCode int
		Message  string
	}
	reason := "a scout failed"
	f, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[failure])
	switch {
	case errors.Is(err, pgx.ErrNoRows): // its history is gone
	case err != nil:
		return err
	default:
		reason = fmt.Sprintf("scout job %d failed, the last time at attempt %d", f.ID, f.Attempt)
		if f.Lost {
			reason += ": its pilot was lost"
		}
		if f.ExitCode != 0 {
			reason += fmt.Sprintf(": exit code %d", f.ExitCode)
		}
		if f.Message != "" {
			reason += ": " + f.Message
		}
	}
	_, err = tx.Exec(ctx, query["exhaust"], pgx.StrictNamedArgs{"task": id, "reason": reason})
	return err
}

// endScouting resizes a locked task by what its scouts measured, lets the rest become jobs and says in what state the task is then.
func endScouting(ctx context.Context, tx pgx.Tx, id int64, queues []shares.Queue) (judge.Verdict, error) {
	t, err := readSizedTask(ctx, tx, id)
	if err != nil {
		return judge.Verdict{}, err
	}
	rows, err := tx.Query(ctx, query["measure"], pgx.StrictNamedArgs{"task": id, "limit": spec.MaxScouts})
	if err != nil {
		return judge.Verdict{}, err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByName[scoutRun])
	if err != nil {
		return judge.Verdict{}, err
	}
	m := scoutedBy(runs, t.Spec.Split)
	s := resized(*t.Spec, &m)
	if m.Finished > 0 {
		if t.ShapeID, err = intake.Intern(ctx, tx, s.Shape()); err != nil {
			return judge.Verdict{}, err
		}
	}
	more := int64(0)
	if t.InLots {
		if more, err = replan(ctx, tx, &s, id, queues); err != nil {
			return judge.Verdict{}, err
		}
	}
	now := judge.Verdict{ID: id}
	err = tx.QueryRow(ctx, query["end_scouting"], pgx.StrictNamedArgs{"task": id, "scouted": m, "shape": t.ShapeID, "more": more}).Scan(&now.After)
	if err != nil {
		return now, err
	}
	now.Before = now.After
	verdicts, err := judge.Tasks(ctx, tx, []int64{id})
	if len(verdicts) > 0 {
		now = verdicts[0]
	}
	return now, err
}

// replan cuts what is left of the lots of a task another way from here on; more is by how many pieces that differs.
func replan(ctx context.Context, tx pgx.Tx, s *spec.Spec, task int64, queues []shares.Queue) (more int64, err error) {
	read, err := readLots(ctx, tx, []int64{task})
	if err != nil {
		return 0, err
	}
	for _, l := range read[task] {
		p, err := planLot(ctx, tx, l, s, queues)
		if err != nil {
			return 0, err
		}
		left := l.PiecesLeft
		l.Estimate(s, &p)
		more += l.PiecesLeft - left
	}
	return more, writeLots(ctx, tx, read[task])
}

// avalanche ends the scouting of a locked task now, or before it began.
func avalanche(ctx context.Context, tx pgx.Tx, id int64, queues []shares.Queue, c *Change) error {
	t, err := readSizedTask(ctx, tx, id)
	if err != nil || !t.Scouting && c.Before != "scouting" && c.Before != "exhausted" {
		return err
	}
	v, err := endScouting(ctx, tx, id, queues)
	c.After = v.After
	return err
}
