package holdings

import (
	"context"
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Of one claim so many holders and waiters are shown, and so many jobs are looked at, some at once: it may be one for all jobs of a task.
const (
	mostShown    = 100
	mostLookedAt = 10_000
	atOnce       = 1000
)

// Claim is one claim with those that hold it and that wait; intake.ErrNoClaim when there is none with the id.
func (b *Book) Claim(ctx context.Context, id int64) (explain.ClaimStanding, error) {
	var jobs sharers
	list, err := b.claimsOf(ctx, []int64{id}, func(w machine.View) {
		if _, live := w.Claim(id); live {
			jobs.look(w, id)
		}
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %d", intake.ErrNoClaim, id)
	}
	if err != nil {
		return explain.ClaimStanding{}, err
	}
	err = b.addJobs(ctx, &list[0], jobs)
	return list[0], err
}

// sharers are jobs that share a claim.
type sharers struct {
	held []machine.Lease // the first by id
	rest []int64         // without a lease, those that are over among them
}

// look finds the first of them.
func (s *sharers) look(w machine.View, claim int64) {
	for _, p := range w.Claims().Parties {
		if !slices.Contains(p.Claims, claim) {
			continue
		}
		for _, span := range p.Spans {
			for job := span.Low; job <= span.High; job++ {
				if l, ok := w.Lease(job); ok {
					s.held = append(s.held, l)
				} else if s.rest = append(s.rest, job); len(s.rest) == mostLookedAt {
					return
				}
			}
		}
	}
}

func (b *Book) addJobs(ctx context.Context, st *explain.ClaimStanding, jobs sharers) error {
	slices.SortFunc(jobs.held, func(a, b machine.Lease) int { return int(a.Job - b.Job) })
	slices.Sort(jobs.rest)
	held := jobs.held[:min(len(jobs.held), mostShown)]
	ids := make([]int64, len(held))
	for i, l := range held {
		ids[i] = l.Job
	}
	rows, err := b.cfg.Jobs.JobsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("holders of claim %d: %w", st.ID, err)
	}
	known := make(map[int64]*lookup.JobRow, len(rows))
	for i := range rows {
		known[rows[i].ID] = &rows[i]
	}
	for _, l := range held {
		h := explain.ClaimHolder{Job: l.Job, Task: l.Task, Attempt: int(l.Attempt), Pilot: l.Pilot, State: string(lookup.Granted)}
		if l.Started {
			h.State = string(lookup.Running)
		}
		if r := known[l.Job]; r != nil {
			h.Name = nameOf(r)
			if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Attempt == h.Attempt {
				h.State, h.Since = r.Attempts[n-1].State, r.Attempts[n-1].ClaimedAt
			}
		}
		st.Holders = append(st.Holders, h)
	}
	for some := range slices.Chunk(jobs.rest, atOnce) {
		rows, err := b.cfg.Jobs.JobsByID(ctx, some)
		if err != nil {
			return fmt.Errorf("waiters of claim %d: %w", st.ID, err)
		}
		for i := range rows {
			r := &rows[i]
			if r.State != "waiting" && r.State != "ready" {
				continue
			}
			if st.Waiting++; len(st.Waiters) < mostShown {
				st.Waiters = append(st.Waiters, explain.ClaimWaiter{Job: r.ID, Task: r.Task, Name: nameOf(r), State: r.State, Since: r.CreatedAt})
			}
		}
	}
	return nil
}

func nameOf(r *lookup.JobRow) string {
	if len(r.Inputs) == 0 {
		return ""
	}
	return r.Inputs[0]
}
