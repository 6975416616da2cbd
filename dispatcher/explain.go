package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/internal/pg"
)

// facts is what the tables hold about a job to explain.
type facts struct {
	explain.Subject
	Priority int
	MadeAt   time.Time
	Placed   bool
	Waits    bool
	Held     []int64 // claims
}

// Explain returns why a job waits, or why it got its slot; lookup.ErrNoJob if no job has the id. It takes a few short
// reads. For a job that had a slot it also reads the log again from the checkpoint before.
func (r *Reads) Explain(ctx context.Context, job int64) (e explain.Explanation, err error) {
	s, err := r.subject(ctx, job)
	if err == nil {
		err = r.around(ctx, func(m explain.Moment) { e = m.Job(*s) })
	}
	return e, pg.Named("explain", err)
}

// around is see, with what an explanation needs beside the machine.
func (r *Reads) around(ctx context.Context, look func(explain.Moment)) (err error) {
	m := explain.Moment{Holes: r.black(ctx)}
	if m.Ends, err = rules.EndRates(ctx, r.d.cfg.Pool); err != nil {
		return err
	}
	return r.see(ctx, m, look)
}

func (r *Reads) subject(ctx context.Context, job int64) (*explain.Subject, error) {
	j, err := r.Job(ctx, job)
	if err != nil {
		return nil, err
	}
	rows, err := pg.CollectTo(ctx, pgx.RowToStructByNameLax[facts], r.d.cfg.Pool, query["subject"], pg.Args{"job": job})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: %d", lookup.ErrNoJob, job)
	}
	f, s := &rows[0], &rows[0].Subject
	s.Job, s.Path, s.State, s.Inputs, s.Judged = job, j.Share, j.State, j.Inputs, s.TryAt != nil
	if f.Waits && s.TryAt == nil {
		now := time.Now()
		s.TryAt = &now
	}
	if !f.Placed {
		s.Place = r.place(ctx, f)
	}
	if s.Claims, err = r.ClaimsOf(ctx, f.Held); err != nil {
		return nil, err
	}
	if j.State != "ready" && j.State != "waiting" {
		s.Given, err = r.given(ctx, &j)
	}
	return s, err
}

// place returns the order key of a job that was made a moment ago.
func (r *Reads) place(ctx context.Context, f *facts) int64 {
	place := -int64(f.Priority)
	_ = r.see(ctx, explain.Moment{}, func(m explain.Moment) { // if it fails: as without aging
		if node, ok := m.View.Site.Tree.ByID(f.Share); ok {
			place = m.View.Site.Tree.Nodes[node].Plan.Aging.Place(f.Priority, f.MadeAt)
		}
	})
	return place
}

// replayWithin bounds the time in which an explanation reads the log again.
const replayWithin = 5 * time.Second

// given returns the decision that gave the running or last attempt of a job its slot; nil: it never had a slot.
func (r *Reads) given(ctx context.Context, j *lookup.JobRow) (*explain.Decision, error) {
	n := len(j.Attempts)
	if n == 0 {
		return nil, nil //nolint:nilnil // the answer for a job without an attempt
	}
	a := j.Attempts[n-1]
	out := &explain.Decision{Attempt: a.Attempt, Queue: a.Queue, Pilot: a.Pilot, Node: a.Node, ReadyAt: j.CreatedAt, ClaimedAt: a.ClaimedAt}
	if n > 1 && j.Attempts[n-2].EndedAt != nil {
		out.ReadyAt = *j.Attempts[n-2].EndedAt
	}
	out.WaitedS = max(0, a.ClaimedAt.Sub(out.ReadyAt).Seconds())
	version, err := pg.CollectTo(ctx, pgx.RowTo[int64], r.d.cfg.Pool, query["version_at"], pg.Args{"at": a.ClaimedAt})
	if err != nil {
		return nil, err
	}
	out.Version = version[0]
	within, cancel := context.WithTimeout(ctx, replayWithin)
	defer cancel()
	out.Record, out.Levels, err = r.replay.Decision(within, j.ID, int32(a.Attempt), a.ClaimedAt)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		out.Record, out.Levels = nil, nil
		out.Note = "not recorded: the log of that time could not be read again"
	case out.Record == nil:
		out.Note = "not recorded: the log lacks the request of the pilot, or no longer has what came before it"
	}
	out.Recorded = out.Record != nil
	return out, nil
}

// whyWithin bounds the time in which Why reads the log again.
const whyWithin = 20 * time.Second

// Why explains why share A was served before share B, or the other way round. It returns a *job.FieldError if one of
// them is no share, or is above the other. It covers the decisions that the log still has, or the oldest of them if
// time runs out.
func (r *Reads) Why(ctx context.Context, q explain.WhyRequest) (out explain.Why, err error) {
	if q, err = q.Check(); err != nil {
		return out, err
	}
	var wrong error
	if err = r.see(ctx, explain.Moment{}, func(m explain.Moment) { _, _, wrong = m.Sides(q) }); err != nil || wrong != nil {
		return out, errors.Join(wrong, err)
	}
	fared, err := r.fared(ctx, q)
	if err != nil {
		return out, fmt.Errorf("why: %w", err)
	}
	if err = r.see(ctx, explain.Moment{}, func(m explain.Moment) { out, wrong = m.Why(q, fared) }); err != nil {
		return out, err
	}
	return out, wrong
}

// fared counts how both shares did in the last decisions.
func (r *Reads) fared(ctx context.Context, q explain.WhyRequest) (explain.Fared, error) {
	within, cancel := context.WithTimeout(ctx, whyWithin)
	defer cancel()
	last, n, now := make([]replay.Decided, 0, min(q.Last, 1024)), 0, time.Now()
	err := r.replay.Decisions(within, now.Add(-q.From), now, func(_ *replay.Turn, d replay.Decided, _ machine.Contest) bool {
		if len(last) < q.Last {
			last = append(last, d)
		} else {
			last[n%q.Last] = d
		}
		n++
		return true
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return explain.Fared{}, err
	}
	f := replay.Fare{A: q.A, B: q.B}
	for i := range last {
		f.Add(last[(n+i)%len(last)])
	}
	return f.Fared, nil
}
