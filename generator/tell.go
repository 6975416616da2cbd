package generator

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
)

// plain verbs need nothing but their table: they are said to many tasks at once.
func plain(verb Verb) bool {
	switch verb {
	case VerbKill, VerbPause, VerbResume, VerbFinish:
		return true
	}
	return false
}

// toldTask is what a plain verb made of one task: what changed, or why nothing may.
type toldTask struct {
	Change
	refused error // ErrNoTask or ErrState
}

// tell does a plain verb to tasks in one transaction, with as many statements as for one; out is in the order of ids, which
// has each once.
func (g *Verbs) tell(ctx context.Context, verb Verb, ids []int64) (out []toldTask, err error) {
	var st *site.Site
	if verb == VerbResume {
		if st, err = g.cfg.Site(ctx); err != nil {
			return nil, fmt.Errorf("site: %w", err)
		}
	}
	err = g.write(ctx, func(tx pgx.Tx) error {
		tasks, err := lockTasks(ctx, tx, ids)
		if err != nil {
			return err
		}
		said := sayAll(verb, tasks, st)
		if err := said.act(ctx, tx); err != nil {
			return err
		}
		if err := said.recordAll(ctx, tx); err != nil {
			return err
		}
		out = said.inOrder(ids)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if verb == VerbResume {
		g.hint()
	}
	for _, t := range out {
		g.reportChange(t.Change)
	}
	return out, nil
}

// said is a plain verb and what it makes of locked tasks.
type said struct {
	verb  Verb
	told  map[int64]*toldTask
	moves []lockedTask // those that go on to another state
}

// sayAll looks the tasks up in the table.
func sayAll(verb Verb, tasks []lockedTask, st *site.Site) *said {
	s := &said{verb: verb, told: make(map[int64]*toldTask, len(tasks))}
	for i := range tasks {
		t := &tasks[i]
		to := &toldTask{Change: Change{Task: t.ID, Verb: verb, Before: t.State, After: t.State}}
		s.told[t.ID] = to
		after, ok := next[verb][t.State]
		switch {
		case !ok:
			to.refused = refusal(verb, t)
			continue
		case after == same:
			continue
		case after == resumed:
			after = t.entry(st, t.ResumeState)
		}
		to.After = after
		s.moves = append(s.moves, *t)
	}
	return s
}

// act puts the tasks into their next states, has their jobs follow and judges which of them are over.
func (s *said) act(ctx context.Context, tx pgx.Tx) error {
	if len(s.moves) == 0 {
		return nil
	}
	if err := s.setStates(ctx, tx); err != nil {
		return err
	}
	if err := s.tellJobs(ctx, tx); err != nil {
		return err
	}
	ids := make([]int64, len(s.moves))
	for i, t := range s.moves {
		ids[i] = t.ID
	}
	verdicts, err := judge.Tasks(ctx, tx, ids)
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		s.told[v.ID].After = v.After
	}
	return nil
}

// tellJobs tells the log of tasks that have jobs. Those that have to wait for a limit after a pause stay paused until Throttle lets them in.
func (s *said) tellJobs(ctx context.Context, tx pgx.Tx) error {
	var ids []int64
	for i := range s.moves {
		t := &s.moves[i]
		to := s.told[t.ID]
		if t.NGenerated == 0 || to.After == "throttled" {
			continue
		}
		ids = append(ids, t.ID)
		if to.Ready = int(t.NIdle); s.verb == VerbKill {
			to.Leased = int(t.NLeased)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	switch s.verb {
	case VerbPause:
		return intake.Pause(ctx, tx, ids...)
	case VerbResume:
		return intake.Resume(ctx, tx, ids...)
	case VerbKill:
		return judge.EndJobs(ctx, tx, judge.Killed, ids)
	case VerbFinish:
		return judge.EndJobs(ctx, tx, judge.Finished, ids)
	}
	return nil
}

func (s *said) setStates(ctx context.Context, tx pgx.Tx) error {
	var ids []int64
	var befores, afters, reasons []string
	var resumes []*string
	for _, t := range s.moves {
		after, reason, resume := s.told[t.ID].After, "", (*string)(nil)
		switch {
		case after == "paused" && t.State != "throttled":
			resume = &t.State
		case after == "paused" && t.ResumeState != "":
			resume = &t.ResumeState
		case after == "throttled":
			resume, reason = &t.ResumeState, throttle.Why
		case s.verb == VerbKill:
			reason = "killed"
		case s.verb == VerbFinish:
			reason = "finished early"
		}
		ids, befores, afters = append(ids, t.ID), append(befores, t.State), append(afters, after)
		resumes, reasons = append(resumes, resume), append(reasons, reason)
	}
	tag, err := tx.Exec(ctx, query["set_state"], pgx.StrictNamedArgs{"tasks": ids, "befores": befores, "afters": afters,
		"resume_states": resumes, "reasons": reasons})
	if err != nil {
		return err
	}
	if n := tag.RowsAffected(); n != int64(len(ids)) {
		return fmt.Errorf("%d of %d tasks left their states under their locks", int64(len(ids))-n, len(ids))
	}
	return nil
}

func (s *said) inOrder(ids []int64) []toldTask {
	out := make([]toldTask, len(ids))
	for i, id := range ids {
		if to := s.told[id]; to != nil {
			out[i] = *to
			continue
		}
		out[i] = toldTask{Change: Change{Task: id, Verb: s.verb}, refused: view.ErrNoTask}
	}
	return out
}
