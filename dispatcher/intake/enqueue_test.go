package intake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// What a call leaves: dense ids of jobs that are alike, a row a job and a block, and the entries that say so.
func TestEnqueue(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	small, big := h.shape(t, 1), h.shape(t, 8)
	h.says(t, []entry.Entry{entry.Shaped{Shape: small, Need: job.Requirements{Cores: 1, Labels: map[string]string{}}}},
		[]entry.Entry{entry.Shaped{Shape: big, Need: job.Requirements{Cores: 8, Labels: map[string]string{}}}})
	a := intake.NewJob{Task: 7, Share: 2, Shape: small, Priority: 5, MaxAttempts: 3}
	b, c := a, a
	a.Index, a.Inputs, a.Claims = 1, []string{"x", "", "y"}, []int64{4, 9}
	b.Shape, b.Index, b.FirstEvent, b.Events, b.RetryOf = big, 2, 10, 5, 77
	c.Index, c.Inputs, c.Claims = 3, []string{}, []int64{4, 9}
	d := c
	d.Claims, d.Inputs = []int64{4}, nil
	ids := h.enqueue(t, a, b, c, d)
	if want := []int64{1, 4, 2, 3}; !slices.Equal(ids, want) {
		t.Fatalf("ids %v, want %v: jobs that are alike follow each other", ids, want)
	}
	h.says(t, []entry.Entry{
		entry.Joined{Task: 7, Low: 1, High: 2, Claims: []int64{4, 9}}, entry.Joined{Task: 7, Low: 3, High: 3, Claims: []int64{4}},
		entry.Enqueued{Task: 7, Share: 2, Shape: small, Place: -5, Low: 1, High: 3, Attempt: 1, User: "u7"},
		entry.Enqueued{Task: 7, Share: 2, Shape: big, Place: -5, Low: 4, High: 4, Attempt: 1, User: "u7"}})
	got := one[string](t, h, "SELECT string_agg(j::text, ' ' ORDER BY id) FROM jobs j")
	if want := `(1,1,,,,"{x,"""",y}","{4,9}") (2,3,,,,{},"{4,9}") (3,3,,,,,{4}) (4,2,10,5,77,,)`; got != want {
		t.Errorf("jobs %s\nwant %s", got, want)
	}
	got = one[string](t, h, "SELECT string_agg(concat_ws(' ', low, high, task_id, share_id, shape_id, priority, max_attempts, again), '; ' ORDER BY low) FROM job_blocks")
	if want := fmt.Sprintf("1 3 7 2 %d 5 3 f; 4 4 7 2 %d 5 3 t", small, big); got != want {
		t.Errorf("blocks %s\nwant %s", got, want)
	}
}

func TestEnqueueRefuses(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	good := intake.NewJob{Task: 1, Share: 1, Shape: h.shape(t, 1), MaxAttempts: 1}
	h.said(t)
	for name, c := range map[string]struct {
		change func(*intake.NewJob)
		says   string
	}{
		"no task":        {func(j *intake.NewJob) { j.Task = 0 }, "jobs[1].task"},
		"no attempts":    {func(j *intake.NewJob) { j.MaxAttempts = 0 }, "jobs[1].max_attempts"},
		"a priority":     {func(j *intake.NewJob) { j.Priority = 1 << 40 }, "jobs[1].priority"},
		"no such share":  {func(j *intake.NewJob) { j.Share = 77 }, "shares [1 77]"},
		"no such shape":  {func(j *intake.NewJob) { j.Shape = 77 }, "does not exist"},
		"text of zeroes": {func(j *intake.NewJob) { j.Inputs = []string{"a\x00"} }, "0x00"},
	} {
		bad := good
		c.change(&bad)
		err := pg.InTx(t.Context(), h.Pool, func(tx pgx.Tx) error {
			_, err := intake.Enqueue(t.Context(), tx, []intake.NewJob{good, bad})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v: want an error with %q", name, err, c.says)
		}
	}
	h.says(t)
	if n := one[int](t, h, "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM job_blocks)"); n != 0 {
		t.Errorf("%d rows of refused jobs", n)
	}
	h.in(t, func(tx pgx.Tx) error {
		ids, err := intake.Enqueue(t.Context(), tx, nil)
		if len(ids) != 0 {
			t.Error(ids)
		}
		return err
	})
}

// With aging the place follows from priority and time; jobs of one call are of one time.
func TestEnqueuePlaces(t *testing.T) {
	h := newHouse(t, 1000, 1000)
	aging := &shares.Aging{Per: shares.Duration(time.Hour), Points: 10}
	h.age(t, 3, aging, 1)
	shape := h.shape(t, 1)
	h.said(t)
	h.enqueue(t, intake.NewJob{Task: 1, Share: 3, Shape: shape, Priority: 4, MaxAttempts: 1}, intake.NewJob{Task: 1, Share: 4, Shape: shape, Priority: 4, MaxAttempts: 1})
	made := one[time.Time](t, h, "SELECT min(made_at) FROM job_blocks")
	rows := h.said(t)
	if e := rows[0][0].(entry.Enqueued); e.Place != aging.Place(4, made) {
		t.Errorf("place %d, want %d", e.Place, aging.Place(4, made))
	}
	if e := rows[0][1].(entry.Enqueued); e.Place != -4 {
		t.Errorf("place %d without aging, want -4", e.Place)
	}
}

// Eight callers at once, some of whom roll back: the ids of each call follow each other, and no two calls have the same.
func TestIDsAreDense(t *testing.T) {
	h := newHouse(t, 100_000, 1000)
	shape := h.shape(t, 1)
	var mu sync.Mutex
	var all [][]int64
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for i := range 15 {
				n := 1 + (i*7+c*13)%120
				back := errors.New("rolled back")
				var ids []int64
				err := pg.InTx(t.Context(), h.Pool, func(tx pgx.Tx) (err error) {
					ids, err = intake.Enqueue(t.Context(), tx, some(n, intake.NewJob{Task: int64(c + 1), Share: 1, Shape: shape}))
					if err == nil && i%4 == 3 {
						return back
					}
					return err
				})
				if err != nil && !errors.Is(err, back) {
					t.Error(err)
					return
				}
				if len(ids) != n || ids[n-1] != ids[0]+int64(n-1) || !slices.IsSorted(ids) {
					t.Errorf("%d ids from %d to %d of %d jobs", len(ids), ids[0], ids[len(ids)-1], n)
				}
				mu.Lock()
				all = append(all, ids)
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	ids := slices.Concat(all...)
	slices.Sort(ids)
	if n := len(ids); len(slices.Compact(ids)) != n {
		t.Error("an id was given twice")
	}
	if n := one[int64](t, h, "SELECT last_value FROM job_ids"); n != int64(len(ids)) {
		t.Errorf("%d ids were taken for %d jobs", n, len(ids))
	}
}

// The number of the lock in SQL is the one in Go, and whoever is told to stop while it waits for it leaves nothing locked.
func TestTakingIDsLeavesNoLock(t *testing.T) {
	h := newHouse(t, 100, 100)
	holder, err := h.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	if _, err := holder.Exec(t.Context(), "SELECT pg_advisory_lock($1::int, 0)", pg.LockIDs); err != nil {
		t.Fatal(err)
	}
	waiter, err := h.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Release()
	if _, err := waiter.Exec(t.Context(), "SET statement_timeout = '50ms'"); err != nil {
		t.Fatal(err)
	}
	if _, err := waiter.Exec(t.Context(), "SELECT divvy_take_ids(5)"); pg.Code(err) != pg.CodeQueryCanceled {
		t.Fatalf("%v: want a time-out, since the lock is held", err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT pg_advisory_unlock($1::int, 0)", pg.LockIDs); err != nil {
		t.Fatal(err)
	}
	if _, err := waiter.Exec(t.Context(), "SELECT divvy_take_ids(0)"); err == nil {
		t.Error("0 ids were taken")
	}
	if n := one[int](t, h, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); n != 0 {
		t.Errorf("%d advisory locks are held", n)
	}
	if first := one[int64](t, h, "SELECT divvy_take_ids(5)"); first != 1 {
		t.Errorf("the first id is %d", first)
	}
}

// A call that is cut off at any moment, or whose transaction never commits, has announced nothing, and made nothing.
func TestEnqueueIsWholeOrNothing(t *testing.T) {
	h := newHouse(t, 100_000, 100_000)
	shape := h.shape(t, 1)
	h.said(t)
	jobs := some(3000, intake.NewJob{Task: 1, Share: 1, Shape: shape, Inputs: []string{"an input"}})
	for i := range 25 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		if i > 20 {
			ctx = t.Context()
		}
		err := pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error {
			_, err := intake.Enqueue(ctx, tx, jobs)
			return err
		})
		cancel()
		if err != nil && i > 20 {
			t.Fatal(err)
		}
		// One snapshot: the server may still be at what was cut off.
		got := one[[]int64](t, h, "SELECT ARRAY[(SELECT count(*) FROM jobs), (SELECT coalesce(sum(high - low + 1), 0) FROM job_blocks), (SELECT count(*) * 3000 FROM outbox)]")
		if got[0] != got[1] || got[0] != got[2] || i > 20 && got[0] == 0 {
			t.Fatalf("%v: %d jobs, %d in blocks, %d in the outbox", err, got[0], got[1], got[2])
		}
	}
}

// A shape has one id, whoever asks for it and however; the log is told of it once, before the jobs that have it.
func TestShapesOnce(t *testing.T) {
	h := newHouse(t, 10_000, 10_000)
	needs := make([]job.Requirements, 12)
	for i := range needs {
		needs[i] = job.Requirements{Cores: i%6 + 1, Queues: []string{"b", "a"}, User: fmt.Sprint(i)}
	}
	var mu sync.Mutex
	ids := map[int]int32{}
	var callers sync.WaitGroup
	for c := range 4 {
		callers.Go(func() {
			back := errors.New("rolled back")
			err := pg.InTx(t.Context(), h.Pool, func(tx pgx.Tx) error {
				all := slices.Concat(needs[c:], needs[:c])
				shapes, err := intake.InternAll(t.Context(), tx, all)
				if err != nil {
					return err
				}
				for i, s := range shapes {
					if _, err := intake.Enqueue(t.Context(), tx, some(1, intake.NewJob{Task: int64(c + 1), Share: 1, Shape: s})); err != nil {
						return err
					}
					if c == 0 {
						continue
					}
					mu.Lock()
					if had, is := ids[all[i].Cores]; is && had != s {
						t.Errorf("%d cores have the shapes %d and %d", all[i].Cores, had, s)
					}
					ids[all[i].Cores] = s
					mu.Unlock()
				}
				if c == 0 {
					return back
				}
				return nil
			})
			if err != nil && !errors.Is(err, back) {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	known := map[int32]bool{}
	for _, row := range h.said(t) {
		for _, e := range row {
			switch e := e.(type) {
			case entry.Shaped:
				want := job.Requirements{Cores: e.Need.Cores, Labels: map[string]string{}, Queues: []string{"a", "b"}}
				if diff := cmp.Diff(want, e.Need); known[e.Shape] || ids[e.Need.Cores] != e.Shape || diff != "" {
					t.Errorf("%+v, known %v %s", e, known[e.Shape], diff)
				}
				known[e.Shape] = true
			case entry.Enqueued:
				if !known[e.Shape] {
					t.Errorf("shape %d has jobs before the log knows it", e.Shape)
				}
			}
		}
	}
	if len(known) != 6 || one[int](t, h, "SELECT count(*) FROM shapes") != 6 {
		t.Errorf("%d shapes are known to the log, want 6", len(known))
	}
}

func TestShapesAreNormal(t *testing.T) {
	h := newHouse(t, 100, 100)
	base := job.Requirements{Cores: 2}
	same := []job.Requirements{base, {Cores: 2, User: "u"}, {Cores: 2, Labels: map[string]string{}}, {Cores: 2, SharingID: "x"}, {Cores: 2, Locality: job.LocalityRequired},
		{Cores: 2, Locations: []string{"a"}}, {Cores: 2, Resources: map[string]int64{"r": 0}}}
	h.in(t, func(tx pgx.Tx) error {
		ids, err := intake.InternAll(t.Context(), tx, same)
		if err == nil && len(slices.Compact(ids)) != 1 {
			t.Errorf("shapes %v of the same requirements", ids)
		}
		return err
	})
	full := job.Requirements{Cores: 3, MemoryMB: 4, DiskMB: 5, WalltimeS: 6, Labels: map[string]string{"os": "el9"}, Queues: []string{"!x", "gpu-*"}, Label: "l",
		Resources: map[string]int64{"maya": 2}, SharingID: "s", Locations: []string{"a", "b"}, Locality: job.LocalityPreferred}
	h.said(t)
	h.in(t, func(tx pgx.Tx) error { _, err := intake.Intern(t.Context(), tx, full); return err })
	got := h.said(t)[0][0].(entry.Shaped)
	if diff := cmp.Diff(full, got.Need); diff != "" {
		t.Error(diff)
	}
	row := one[string](t, h, "SELECT (id, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id, locations, locality)::text FROM shapes WHERE cores = 3")
	if want := fmt.Sprintf(`(%d,3,4,5,6,"{""os"": ""el9""}","{!x,gpu-*}",l,"{""maya"": 2}",s,"{a,b}",preferred)`, got.Shape); row != want {
		t.Errorf("row %s\nwant %s", row, want)
	}
	for field, bad := range map[string]job.Requirements{"requirements.cores": {}, "requirements.locality": {Cores: 1, Locality: "near"}, "requirements.claims": {Cores: 1, Claims: &job.ClaimNeed{}}} {
		err := pg.InTx(t.Context(), h.Pool, func(tx pgx.Tx) error { _, err := intake.Intern(t.Context(), tx, bad); return err })
		var f *job.FieldError
		if !errors.As(err, &f) || f.Field != field {
			t.Errorf("%v: want an error of %s", err, field)
		}
	}
}
