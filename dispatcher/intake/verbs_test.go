package intake_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/shares"
)

// A verb is one row of the outbox and one entry a task, however many jobs it is about.
func TestVerbs(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	ctx, shape := t.Context(), h.shape(t, 1)
	of := func(task int64, n int) { h.enqueue(t, some(n, intake.NewJob{Task: task, Share: 1, Shape: shape})...) }
	of(1, 10)
	of(2, 5)
	of(1, 10)
	of(3, 5)
	h.said(t)
	k := intake.Killing{Reason: "killed", GraceS: 10}
	for _, c := range []struct {
		name string
		verb func(tx pgx.Tx) error
		want [][]entry.Entry
	}{
		{"pause", func(tx pgx.Tx) error { return intake.Pause(ctx, tx, 3, 1) }, [][]entry.Entry{{entry.Paused{Task: 3}, entry.Paused{Task: 1}}}},
		{"resume", func(tx pgx.Tx) error { return intake.Resume(ctx, tx, 3) }, [][]entry.Entry{{entry.Resumed{Task: 3}}}},
		{"kill", func(tx pgx.Tx) error { return intake.Kill(ctx, tx, k, 2, 1, 99) }, [][]entry.Entry{{
			entry.Killed{Task: 2, Low: 11, High: 15, Reason: "killed", GraceS: 10}, entry.Killed{Task: 1, Low: 1, High: 25, Reason: "killed", GraceS: 10}}}},
		{"kill idle ones", func(tx pgx.Tx) error { return intake.Kill(ctx, tx, intake.Killing{Reason: "finishing", Idle: true}, 3) },
			[][]entry.Entry{{entry.Killed{Task: 3, Low: 26, High: 30, Reason: "finishing", Idle: true}}}},
		{"kill a task without jobs", func(tx pgx.Tx) error { return intake.Kill(ctx, tx, k, 98) }, nil},
		{"kill jobs", func(tx pgx.Tx) error {
			found, err := intake.KillJobs(ctx, tx, k, 30, 17, 2, 3, 16, 12, 10, 11, 400, 2)
			if want := []int64{2, 3, 10, 11, 12, 16, 17, 30}; !slices.Equal(found, want) {
				t.Errorf("found %v, want %v", found, want)
			}
			return err
		}, [][]entry.Entry{{entry.Killed{Task: 1, Low: 2, High: 3, Reason: "killed", GraceS: 10}, entry.Killed{Task: 1, Low: 10, High: 10, Reason: "killed", GraceS: 10},
			entry.Killed{Task: 2, Low: 11, High: 12, Reason: "killed", GraceS: 10}, entry.Killed{Task: 1, Low: 16, High: 17, Reason: "killed", GraceS: 10},
			entry.Killed{Task: 3, Low: 30, High: 30, Reason: "killed", GraceS: 10}}}},
		{"kill no job", func(tx pgx.Tx) error { _, err := intake.KillJobs(ctx, tx, k, 400); return err }, nil},
		{"prioritise", func(tx pgx.Tx) error { return intake.Prioritise(ctx, tx, 1, 7) }, [][]entry.Entry{{entry.Placed{Task: 1, Low: 1, High: 25, Place: -7}}}},
		{"prioritise again", func(tx pgx.Tx) error { return intake.Prioritise(ctx, tx, 1, 7) }, nil},
		{"move a task", func(tx pgx.Tx) error { return intake.MoveTask(ctx, tx, intake.TaskMove{Task: 1, To: 4}) },
			[][]entry.Entry{{entry.Moved{Task: 1, Low: 1, High: 25, Share: 4, Place: -7}}}},
		{"move what is not there", func(tx pgx.Tx) error {
			return intake.MoveTask(ctx, tx, intake.TaskMove{Task: 1, From: 1, To: 5, Running: true})
		}, nil},
		{"move a share", func(tx pgx.Tx) error { return intake.MoveShare(ctx, tx, 1, 4) }, [][]entry.Entry{{
			entry.Moved{Task: 2, Low: 11, High: 15, From: 1, Share: 4, Running: true}, entry.Moved{Task: 3, Low: 26, High: 30, From: 1, Share: 4, Running: true}}}},
		{"move it again", func(tx pgx.Tx) error { return intake.MoveShare(ctx, tx, 1, 4) }, nil},
		{"expect", func(tx pgx.Tx) error { return intake.Expect(ctx, tx, entry.Expected{Share: 1, Shape: shape, Jobs: 9}) },
			[][]entry.Entry{{entry.Expected{Share: 1, Shape: shape, Jobs: 9}}}},
		{"cap", func(tx pgx.Tx) error { return intake.Cap(ctx, tx, []entry.Capacity{{Name: "maya", Units: 3}}) },
			[][]entry.Entry{{entry.Capped{Capacities: []entry.Capacity{{Name: "maya", Units: 3}}}}}},
		{"a black hole", func(tx pgx.Tx) error {
			return intake.Say(ctx, tx, []entry.Entry{entry.Holed{Queue: 1, Is: true, ProbeS: 60}})
		},
			[][]entry.Entry{{entry.Holed{Queue: 1, Is: true, ProbeS: 60}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.in(t, c.verb)
			h.says(t, c.want...)
		})
	}
	for name, verb := range map[string]func(tx pgx.Tx) error{
		"capacity": func(tx pgx.Tx) error { return intake.Cap(ctx, tx, []entry.Capacity{{Name: "maya", Units: -1}}) },
		"no name":  func(tx pgx.Tx) error { return intake.Cap(ctx, tx, []entry.Capacity{{Units: 1}}) },
		"expected": func(tx pgx.Tx) error { return intake.Expect(ctx, tx, entry.Expected{Jobs: -1}) },
		"used": func(tx pgx.Tx) error {
			return intake.Report(ctx, tx, entry.Reported{Name: "maya", Used: -1, At: time.Now()})
		},
		"no time": func(tx pgx.Tx) error { return intake.Report(ctx, tx, entry.Reported{Name: "maya"}) },
		"a grant": func(tx pgx.Tx) error { return intake.Say(ctx, tx, []entry.Entry{entry.Granted{Job: 1}}) },
		"no class": func(tx pgx.Tx) error {
			_, err := intake.SetTargetSlots(ctx, tx, entry.Target{Queue: "q", Class: "x"})
			return err
		},
		"no target": func(tx pgx.Tx) error { _, err := intake.SetTargetSlots(ctx, tx, entry.Target{}); return err },
	} {
		tx, err := h.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := verb(tx); err == nil {
			t.Errorf("%s: no error", name)
		}
		_ = tx.Rollback(ctx)
	}
}

// Jobs made at two times have two places with aging; a task's moves follow the plan of the share that it goes to.
func TestPlacesByAging(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	ctx, shape := t.Context(), h.shape(t, 1)
	hour := &shares.Aging{Per: shares.Duration(time.Hour), Points: 10}
	for range 2 {
		h.enqueue(t, some(5, intake.NewJob{Task: 1, Share: 1, Shape: shape, Priority: 2})...)
	}
	h.exec("UPDATE job_blocks SET made_at = '2001-01-01 00:00:00Z'::timestamptz + low * interval '1 minute'")
	at := func(low int) time.Time { return time.Date(2001, 1, 1, 0, low, 0, 0, time.UTC) }
	h.age(t, 4, hour, 1)
	h.said(t)
	h.in(t, func(tx pgx.Tx) error {
		return intake.MoveTask(ctx, tx, intake.TaskMove{Task: 1, From: 1, To: 4, Running: true})
	})
	h.says(t, []entry.Entry{entry.Moved{Task: 1, Low: 1, High: 5, From: 1, Share: 4, Place: hour.Place(2, at(1)), Running: true},
		entry.Moved{Task: 1, Low: 6, High: 10, From: 1, Share: 4, Place: hour.Place(2, at(6)), Running: true}})
	h.in(t, func(tx pgx.Tx) error { return intake.Prioritise(ctx, tx, 1, 3) })
	h.says(t, []entry.Entry{entry.Placed{Task: 1, Low: 1, High: 5, Place: hour.Place(3, at(1))}, entry.Placed{Task: 1, Low: 6, High: 10, Place: hour.Place(3, at(6))}})
}

// After a version of the site with another aging all jobs of the share get their places, in bounded steps; those of tasks that are over
// do not matter. A version that changes nothing of it makes no work.
func TestReorder(t *testing.T) {
	h := newHouse(t, 100_000, 100_000)
	ctx, shape := t.Context(), h.shape(t, 1)
	var jobs []intake.NewJob
	for p := range 1500 {
		jobs = append(jobs, intake.NewJob{Task: 1, Share: 2, Shape: shape, Priority: p, MaxAttempts: 1})
	}
	h.enqueue(t, jobs...)
	h.enqueue(t, some(3, intake.NewJob{Task: 2, Share: 2, Shape: shape})...)
	h.enqueue(t, some(3, intake.NewJob{Task: 3, Share: 3, Shape: shape})...)
	h.exec("UPDATE tasks SET state = 'done', ended_at = now() WHERE id = 2")
	made := one[time.Time](t, h, "SELECT min(made_at) FROM job_blocks")
	h.said(t)
	reorder := func() (places map[int64]int64, steps int) {
		t.Helper()
		places = map[int64]int64{}
		for n := 1; n > 0; steps++ {
			var err error
			if n, err = intake.Reorder(ctx, h.Pool); err != nil {
				t.Fatal(err)
			}
			for _, row := range h.said(t) {
				for _, e := range row {
					places[e.(entry.Placed).Low] = e.(entry.Placed).Place
				}
			}
		}
		return places, steps
	}
	hour := &shares.Aging{Per: shares.Duration(time.Hour), Points: 10}
	h.age(t, 2, hour, 1)
	h.says(t, []entry.Entry{entry.Adopted{Number: 1}})
	places, steps := reorder()
	if len(places) != 1500 || steps != 3 || places[1] != hour.Place(0, made) || places[1500] != hour.Place(1499, made) {
		t.Errorf("%d places after %d steps, the first %d, want %d", len(places), steps, places[1], hour.Place(0, made))
	}
	h.age(t, 2, hour, 2)
	h.said(t)
	if places, _ := reorder(); len(places) != 0 {
		t.Errorf("%d places, and the aging is what it was", len(places))
	}
	h.age(t, 2, nil, 3)
	h.said(t)
	if places, _ := reorder(); len(places) != 1500 || places[1500] != -1499 {
		t.Errorf("%d places without aging, the last %d", len(places), places[1500])
	}
}

// Target slots are said all at once, each time that one of them changes.
func TestTargetSlots(t *testing.T) {
	h := newHouse(t, 100, 100)
	ctx := t.Context()
	set := func(want bool, s entry.Target) {
		t.Helper()
		h.in(t, func(tx pgx.Tx) error {
			changed, err := intake.SetTargetSlots(ctx, tx, s)
			if err == nil && changed != want {
				t.Errorf("%+v: changed %v", s, changed)
			}
			return err
		})
	}
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	limit := entry.Target{Queue: "a", Slots: 8}
	floor := entry.Target{Queue: "a", Share: 2, Class: "SCORE", Slots: 4, Until: until, Floor: true}
	set(true, limit)
	h.says(t, []entry.Entry{entry.Bounded{Targets: []entry.Target{{Queue: "a", Slots: 8}}}})
	set(true, floor)
	h.says(t, []entry.Entry{entry.Bounded{Targets: []entry.Target{{Queue: "a", Slots: 8}, {Queue: "a", Share: 2, Class: "SCORE", Slots: 4, Until: until, Floor: true}}}})
	set(false, floor)
	h.says(t)
	limit.Slots = -1
	set(true, limit)
	h.says(t, []entry.Entry{entry.Bounded{Targets: []entry.Target{{Queue: "a", Share: 2, Class: "SCORE", Slots: 4, Until: until, Floor: true}}}})
	set(false, limit)
	h.says(t)
	h.exec("UPDATE target_slots SET expires_at = now() - interval '1 second'")
	set(true, entry.Target{Queue: "b", Slots: 0})
	h.says(t, []entry.Entry{entry.Bounded{Targets: []entry.Target{{Queue: "b"}}}})
}
