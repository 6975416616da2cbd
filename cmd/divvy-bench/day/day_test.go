package day

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDaySizes(t *testing.T) {
	d := Large()
	if got := d.fast(d.Length); got != 864*time.Second || d.rate() < 833 || d.rate() > 834 {
		t.Errorf("a day in %s, %.1f starts a second", got, d.rate())
	}
	if p := d.plan(); p.Slots*p.Queues != d.Slots || p.Shares() != 100 || p.Queues != 200 {
		t.Errorf("%+v", p)
	}
	for name, change := range map[string]func(*Day){
		"no slots":  func(d *Day) { d.Slots = 0 },
		"no speed":  func(d *Day) { d.Speed = 0 },
		"no rest":   func(d *Day) { d.Rests = 0 },
		"all fail":  func(d *Day) { d.Fail = 1 },
		"no leases": func(d *Day) { d.Lease = time.Second },
	} {
		d := Short()
		change(&d)
		if _, err := Run(context.Background(), stage.Config{}, d); err == nil || !strings.Contains(err.Error(), "makes no sense") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An attempt that two slots were given is noticed, a later attempt of the same job is none.
func TestDayNotes(t *testing.T) {
	var a attempts
	a.granted([]wire.Lease{{Job: 7, Attempt: 1}, {Job: 7, Attempt: 2}, {Job: 8, Attempt: 1}})
	if err := a.trouble(); err != nil {
		t.Fatal(err)
	}
	a.granted([]wire.Lease{{Job: 7, Attempt: 2}})
	var check *recount.Error
	if err := a.trouble(); !errors.As(err, &check) || !strings.Contains(err.Error(), "attempt 2 of job 7") {
		t.Errorf("%v", err)
	}
}

// A job that is missing, and one that is there twice, is noticed.
func TestDayCoverage(t *testing.T) {
	ctx := context.Background()
	s := &stage.Stage{Sizes: stage.Sizes{Ready: 1000, Rounds: 1}, Plan: stage.Base, Book: figure.NewBook(nil, nil), Place: stage.On(pgtest.Open(t))}
	if _, err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	of := stage.Work(s.Leaves[0].Path, shapes[0], 0)
	of.Count, of.Events = 0, &spec.Events{Total: 950, PerJob: eventsOfJob}
	task, err := s.Generator.Submissions().Submit(ctx, generator.SubmitRequest{Spec: of})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Generate(ctx); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change string
		wrong  int64
	}{
		{"SELECT $1::bigint", 0},
		{"UPDATE jobs SET n_events = 49 WHERE $1::bigint > 0 AND first_event = 900", 1},
		{"UPDATE jobs SET first_event = 0 WHERE $1::bigint > 0 AND first_event = 100", 1},
		{"DELETE FROM jobs WHERE $1::bigint > 0 AND first_event = 500", 1},
		{"UPDATE jobs SET retry_of = 1 WHERE $1::bigint > 0 AND first_event = 500", 1},
	} {
		tx, err := s.Place.Pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, c.change, task.ID); err != nil {
			t.Fatal(err)
		}
		// The base tasks count jobs, not events: they are no part of this.
		if _, err := tx.Exec(ctx, "DELETE FROM tasks WHERE id <> $1::bigint", task.ID); err != nil {
			t.Fatal(err)
		}
		got, err := pg.Row[coverage](ctx, tx, query["day_coverage"])
		if err != nil || got.Wrong != c.wrong || got.Tasks != 1 {
			t.Errorf("%s: %+v, %v, want %d wrong", c.change, got, err, c.wrong)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
