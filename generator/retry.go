package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/chain"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/internal/site"
)

type retryRequest struct {
	task   lockedTask
	site   *site.Site
	with   *spec.Changes
	change *Change
}

// retry asks for new jobs; Generate makes them. A share that is no leaf any more is looked for anew.
func retry(ctx context.Context, tx pgx.Tx, r retryRequest) error {
	t := r.task
	if !t.Committed {
		return &judge.StateError{Task: t.ID, Verb: "retry", State: t.State, Hint: "it was over before it had all that jobs are made of: submit it anew"}
	}
	if err := reshare(ctx, tx, t, r.site); err != nil {
		return err
	}
	if r.with != nil {
		if err := alter(ctx, tx, t.ID, r.with); err != nil {
			return err
		}
	}
	reason := ""
	if t.Chained {
		waits, first, err := chain.Reopen(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		if first != "" {
			return &judge.StateError{Task: t.ID, Verb: "retry", State: t.State, Hint: first}
		}
		reason = waits
	}
	var again int64
	after := t.entry(r.site, "running")
	args := pgx.StrictNamedArgs{"task": t.ID, "before": t.State, "after": after, "reason": reason}
	if after == "throttled" && reason == "" {
		args["reason"] = throttle.Why
	}
	err := tx.QueryRow(ctx, query["retry"], args).Scan(&again, &r.change.After)
	if errors.Is(err, pgx.ErrNoRows) {
		return &judge.StateError{Task: t.ID, Verb: "retry", State: t.State, Hint: "nothing of it is left to try again"}
	}
	if err != nil {
		return err
	}
	r.change.Again = again
	return nil
}

// alter gives a locked task that is over other requirements and figures.
func alter(ctx context.Context, tx pgx.Tx, task int64, with *spec.Changes) error {
	t, err := readSizedTask(ctx, tx, task)
	if err != nil {
		return err
	}
	s := *t.Spec
	const hint = "only max_attempts and priority, or clone it with changes"
	switch {
	case s.Grouped() && with.Shapes():
		return spec.Invalid("requirements", "those of a task of groups and roles cannot be changed", hint)
	case t.InLots && with.Shapes():
		return spec.Invalid("requirements", "those of a task whose jobs differ in size or location cannot be changed", hint)
	}
	if s, err = with.Apply(s); err != nil {
		return err
	}
	shape, err := intake.Intern(ctx, tx, s.Shape())
	if err != nil {
		return err
	}
	body, err := s.Canonical()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["alter"], pgx.StrictNamedArgs{"task": task, "shape": shape, "priority": s.Priority,
		"max_attempts": s.MaxAttempts, "spec": string(body)})
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	return nil
}

// reshare gives a task that is about to be tried again another share when its old one is no leaf any more.
func reshare(ctx context.Context, tx pgx.Tx, t lockedTask, st *site.Site) error {
	err := stillLeaf(ctx, tx, t.share())
	if !errors.Is(err, ErrSiteChanged) {
		return err
	}
	tag := tags.Again(st, t.Attributes)
	if tag.Share == 0 {
		return fmt.Errorf("%w: its share was removed, and %s", tags.ErrUntagged, tag.Reason)
	}
	if err := stillLeaf(ctx, tx, tag.Share); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["reshare"], pgx.StrictNamedArgs{"task": t.ID, "share": shareArg(tag.Share), "tagged_by": tag.By,
		"site_version": st.Number})
	return err
}
