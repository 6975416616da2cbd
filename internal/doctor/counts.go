package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/dispatcher"
)

// How old a move may be that is not counted yet.
const (
	behindWarnS = 60
	behindBadS  = 600
)

type behindRow struct{ CountersS, TasksS float64 }

// behind is about the steps that read the ledger.
func (d *Doctor) behind(ctx context.Context) (found []Finding, err error) {
	row, err := one[behindRow](ctx, d.cfg.Direct, "behind", nil)
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		what, step string
		oldest     float64
	}{{"the counters", "fold", row.CountersS}, {"the counts of tasks", "settle", row.TasksS}} {
		if s.oldest < behindWarnS {
			continue
		}
		f := Finding{Level: Warn, Found: fmt.Sprintf("%s are %s behind the ledger", s.what, seconds(s.oldest)),
			Do: fmt.Sprintf("look for step %s in the daemons' logs and divvy_step_seconds, and for who holds its lock", s.step)}
		if s.oldest >= behindBadS {
			f.Level = Bad
		}
		found = append(found, f)
	}
	return found, nil
}

type countRow struct{ Count int64 }

const recountDo = "find out who wrote to jobs, leases or counters beside divvy; then repair"

// negative is what can be seen of wrong counters without reading jobs.
func (d *Doctor) negative(ctx context.Context) ([]Finding, error) {
	row, err := one[countRow](ctx, d.cfg.Direct, "counters", nil)
	if err != nil || row.Count == 0 {
		return nil, err
	}
	return []Finding{d.correctable(fmt.Sprintf("%d rows of the counters are below zero", row.Count))}, nil
}

// recount compares counters with jobs, leases and claims.
func (d *Doctor) recount(ctx context.Context) ([]Finding, error) {
	wrong, err := dispatcher.Recount(ctx, d.cfg.Direct)
	if err != nil || len(wrong) == 0 {
		return nil, err
	}
	return []Finding{d.correctable(fmt.Sprintf("%d rows of the counters are wrong; the first, %s", len(wrong), wrong[0]))}, nil
}

func (d *Doctor) correctable(found string) Finding {
	return Finding{Level: Bad, Found: found, Do: recountDo, Repair: "recount, correct the counters, and have all daemons read them anew",
		fix: func(ctx context.Context, note dispatcher.Note) (string, error) {
			n, err := dispatcher.Correct(ctx, d.cfg.Direct, d.cfg.Load, note)
			return fmt.Sprintf("%d rows of the counters corrected", n), err
		}}
}

type limitsRow struct{ Wrong, Nobodys, Version, Site int64 }

// limits is about hard limits that would let too much be held.
func (d *Doctor) limits(ctx context.Context) ([]Finding, error) {
	row, err := one[limitsRow](ctx, d.cfg.Direct, "limits", nil)
	if err != nil {
		return nil, err
	}
	var found string
	switch {
	case row.Wrong > 0:
		found = fmt.Sprintf("of %d limits more is free than there is", row.Wrong)
	case row.Nobodys > 0:
		found = fmt.Sprintf("%d parts of limits are held for daemons that are closed", row.Nobodys)
	case row.Version != row.Site:
		found = fmt.Sprintf("the limits are those of version %d of the site, and %d is in force", row.Version, row.Site)
	default:
		return nil, nil
	}
	return []Finding{{Level: Bad, Found: found, Do: "repair; and find out who wrote to limits or escrow beside divvy",
		Repair: "compute all limits anew from what is held, as a new version of the site does, and have all daemons read them",
		fix: func(ctx context.Context, note dispatcher.Note) (string, error) {
			return "limits computed anew", dispatcher.Relimit(ctx, d.cfg.Direct, d.cfg.Load, note)
		}}}, nil
}

type lateRow struct {
	N     int64
	LateS float64
}

// leases is about those that nobody ends.
func (d *Doctor) leases(ctx context.Context) ([]Finding, error) {
	row, err := one[lateRow](ctx, d.cfg.Direct, "leases", nil)
	if err != nil || row.N == 0 {
		return nil, err
	}
	level := Warn
	if row.LateS > behindBadS {
		level = Bad
	}
	return []Finding{{Level: level, Found: fmt.Sprintf("%d leases ran out up to %s ago and are still there (a thousand are looked at)", row.N, seconds(row.LateS)),
		Do: "after an outage they stay for one and a half lease_renew; else look for step expire in the daemons' logs"}}, nil
}

// stuckClaims is about claims that nobody looks at.
func (d *Doctor) stuckClaims(ctx context.Context) ([]Finding, error) {
	row, err := one[lateRow](ctx, d.cfg.Direct, "stuck_claims", nil)
	if err != nil || row.N == 0 {
		return nil, err
	}
	return []Finding{{Level: Bad, Found: fmt.Sprintf("%d claims should have been looked at up to %s ago: their units are not given back (a thousand are looked at)", row.N, seconds(row.LateS)),
		Do: "look for step claims in the daemons' logs, and for who holds resource_claims"}}, nil
}

// recountClaims compares sharers with leases.
func (d *Doctor) recountClaims(ctx context.Context) ([]Finding, error) {
	wrong, err := dispatcher.RecountClaims(ctx, d.cfg.Direct)
	if err != nil || len(wrong) == 0 {
		return nil, err
	}
	c := wrong[0]
	return []Finding{{Level: Bad, Found: fmt.Sprintf("%d claims have another number of sharers than their jobs have leases; claim %d has %d, and %d leases", len(wrong), c.ID, c.Sharers, c.Leases),
		Do: "find out who wrote to leases or resource_claims beside divvy; then repair", Repair: "recount the sharers of claims that are bound",
		fix: func(ctx context.Context, note dispatcher.Note) (string, error) {
			n, err := dispatcher.CorrectClaims(ctx, d.cfg.Direct, note)
			return fmt.Sprintf("%d claims corrected", n), err
		}}}, nil
}

type taskRow struct{ ID int64 }

// recountTasks compares counts of tasks with jobs and leases.
func (d *Doctor) recountTasks(ctx context.Context) ([]Finding, error) {
	wrong, err := many[taskRow](ctx, d.cfg.Direct, "tasks", nil)
	if err != nil || len(wrong) == 0 {
		return nil, err
	}
	ids := make([]string, len(wrong))
	for i, t := range wrong {
		ids[i] = fmt.Sprint(t.ID)
	}
	return []Finding{{Level: Bad, Found: "counts of live jobs are wrong in tasks " + strings.Join(ids, ", ") + " (twenty are looked for)",
		Do: "find out who wrote to jobs, leases or tasks beside divvy; a task whose counts never come to its jobs does not end: divvy task kill it, and submit it again"}}, nil
}

// orphans is about leases whose jobs have gone.
func (d *Doctor) orphans(ctx context.Context) ([]Finding, error) {
	row, err := one[countRow](ctx, d.cfg.Direct, "orphans", nil)
	if err != nil || row.Count == 0 {
		return nil, err
	}
	return []Finding{{Level: Bad, Found: fmt.Sprintf("%d leases have no job", row.Count), Do: "they end when they run out or are reported; find out who deleted from jobs"}}, nil
}

// ranges is about jobs that are not found.
func (d *Doctor) ranges(ctx context.Context) ([]Finding, error) {
	missed, err := dispatcher.RecountRanges(ctx, d.cfg.Direct)
	if err != nil || len(missed) == 0 {
		return nil, err
	}
	tasks, places := 0, 0
	for _, j := range missed {
		if j.ByTask {
			tasks++
		}
		if j.ByPlace {
			places++
		}
	}
	return []Finding{{Level: Bad, Found: fmt.Sprintf("%d live jobs are in no range of their task, so that what is done to it passes them by, and %d in none of the ready order, so that no slot gets them; the first is job %d of task %d",
		tasks, places, missed[0].JobID, missed[0].TaskID),
		Do: "find out who wrote to jobs, job_ranges or ready_ranges beside divvy; then repair", Repair: "have them found again",
		fix: func(ctx context.Context, note dispatcher.Note) (string, error) {
			n, err := dispatcher.CorrectRanges(ctx, d.cfg.Direct, note)
			return fmt.Sprintf("%d jobs are found again", n), err
		}}}, nil
}
