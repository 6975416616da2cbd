package suite

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
)

func TestDaySizes(t *testing.T) {
	d := DayOf()
	if got := d.fast(d.Length); got != 864*time.Second || d.rate() < 833 || d.rate() > 834 {
		t.Errorf("a day in %s, %.1f starts a second", got, d.rate())
	}
	if p := d.sitePlan(); p.slots*p.queues != d.Slots || p.tree[0]*p.tree[1]*p.tree[2] != 100 || p.queues != 200 {
		t.Errorf("%+v", p)
	}
	for name, change := range map[string]func(*Day){
		"no slots":  func(d *Day) { d.Slots = 0 },
		"no speed":  func(d *Day) { d.Speed = 0 },
		"no rest":   func(d *Day) { d.Rests = 0 },
		"all fail":  func(d *Day) { d.Fail = 1 },
		"no leases": func(d *Day) { d.Lease = time.Second },
	} {
		d := ShortDay()
		change(&d)
		if _, err := RunDay(context.Background(), DayConfig{Day: d}); err == nil || !strings.Contains(err.Error(), "makes no sense") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An attempt that two slots were given is noticed, a later attempt of the same job is none.
func TestDayNotes(t *testing.T) {
	p := &dayPilots{}
	p.note([]client.Lease{{Job: 7, Attempt: 1}, {Job: 7, Attempt: 2}, {Job: 8, Attempt: 1}})
	if err := p.trouble(); err != nil || p.granted.Load() != 3 {
		t.Fatalf("%v, %d granted", err, p.granted.Load())
	}
	p.note([]client.Lease{{Job: 7, Attempt: 2}})
	var check *CheckError
	if err := p.trouble(); !errors.As(err, &check) || !strings.Contains(err.Error(), "attempt 2 of job 7") {
		t.Errorf("%v", err)
	}
}

// A job that is missing, and one that is there twice, is noticed.
func TestDayCoverage(t *testing.T) {
	ctx := context.Background()
	s := loaded(t)
	of := work(s.leaves[0].path, shapes[0], 0)
	of.Count, of.Events = 0, &spec.Events{Total: 950, PerJob: dayEvents}
	task, err := s.gen.Submit(ctx, generator.SubmitRequest{Spec: of})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.generate(ctx); err != nil {
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
		tx, err := s.place.pool.Begin(ctx)
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
		rows, err := tx.Query(ctx, query["day_coverage"])
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[coverage])
		if err != nil || got.Wrong != c.wrong || got.Tasks != 1 {
			t.Errorf("%s: %+v, %v, want %d wrong", c.change, got, err, c.wrong)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
