package fold

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// end is an attempt that ended, as whoever follows ends sees it.
func (a modelAttempt) end() JobsEnd {
	return JobsEnd{a.Task, a.Job, a.Job, a.Attempt.Attempt, a.Outcome, a.State, a.ExitCode, a.EndedAt}
}

// feeds fails where a reader that takes ends step by step misses one, or gets one twice or out of order.
func (h *history) feeds(t *testing.T, r *rapid.T) {
	var attempts, over []JobsEnd
	changed := map[int64]bool{}
	for at := int64(0); ; {
		p, err := Changed(t.Context(), h.pool, at, rapid.IntRange(1, 5).Draw(r, "steps"))
		if err != nil || p.UpTo < at || p.UpTo > h.last.Seq {
			r.Fatal(p, err)
		}
		ends, err := EndedSince(t.Context(), h.pool, at, p.UpTo)
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range ends {
			if e.Attempt == 0 {
				over = append(over, e)
			} else {
				attempts = append(attempts, e)
			}
		}
		for _, task := range p.Tasks {
			changed[task] = true
		}
		if at == h.last.Seq {
			break
		}
		at = p.UpTo
	}
	var want []JobsEnd
	byTask := map[int64][]JobsEnd{}
	for _, a := range h.attempts {
		want = append(want, a.end())
		if a.State.Final() {
			byTask[a.Task] = append(byTask[a.Task], a.end())
		}
	}
	if diff := cmp.Diff(want, attempts, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("attempts: want (-), got (+):\n%s", diff)
	}
	counts := h.tables()
	var ranges []JobsEnd
	for _, o := range counts.Over {
		e := JobsEnd{Task: o.Task, Low: o.Low, High: o.High, Outcome: ' ', State: o.State, At: o.At}
		ranges, byTask[o.Task] = append(ranges, e), append(byTask[o.Task], e)
	}
	if diff := cmp.Diff(ranges, over, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("jobs without a lease: want (-), got (+):\n%s", diff)
	}
	tasks := slices.Collect(maps.Keys(changed))
	got, err := Counts(t.Context(), h.pool, tasks)
	if diff := differ(tables{Sums: Sums{Tasks: counts.Sums.Tasks}}, tables{Sums: Sums{Tasks: got}}); diff != "" || err != nil {
		r.Fatal(diff, err)
	}
	for task := range int64(5) {
		h.overAmong(t, r, task, byTask[task])
	}
}

// overAmong reads the jobs of a task page by page.
func (h *history) overAmong(t *testing.T, r *rapid.T, task int64, want []JobsEnd) {
	slices.SortFunc(want, func(a, b JobsEnd) int { return int(a.Low - b.Low) })
	var got []JobsEnd
	for low := int64(0); ; low = got[len(got)-1].High + 1 {
		page, err := OverAmong(t.Context(), h.pool, task, Span{Low: low, High: maxID}, 3)
		if err != nil {
			r.Fatal(err)
		}
		if got = append(got, page...); len(page) < 3 {
			break
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("jobs of task %d that are over: want (-), got (+):\n%s", task, diff)
	}
}

// starts fails where a start, or people, see leases otherwise than they are.
func (h *history) starts(t *testing.T, r *rapid.T) {
	var leases []Holding
	var kills []Kill
	var paused []int64
	_, err := Load(t.Context(), h.pool, Sink{Lease: func(l Holding) { leases = append(leases, l) }, Kill: func(k Kill) { kills = append(kills, k) },
		Paused: func(task int64) { paused = append(paused, task) }})
	if err != nil {
		r.Fatal(err)
	}
	if !slices.Equal(kills, h.kills) || !slices.Equal(paused, slices.Sorted(maps.Keys(h.paused))) {
		r.Fatalf("kills %v, want %v; paused %v, want %v", kills, h.kills, paused, h.paused)
	}
	slices.SortFunc(leases, func(a, b Holding) int { return byJob(a.Lease, b.Lease) })
	rows, err := h.pool.Query(t.Context(), "SELECT job, share, reason FROM leases_now ORDER BY job")
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for ; rows.Next(); seen++ {
		var id int64
		var share int32
		var reason string
		if err := rows.Scan(&id, &share, &reason); err != nil {
			r.Fatal(err)
		}
		j := h.jobs[id]
		if l := leases[seen]; l.Job != id || l.Share != j.payer || int32(l.Share) != share || l.Home != j.like.Share || l.Place != j.like.Place {
			r.Fatalf("lease %+v, in SQL of share %d; want %+v", l, share, j)
		}
		want := j.lease.Reason
		for _, k := range h.kills {
			if k.Task == j.like.Task && k.Low <= id && id <= k.High && !k.Idle {
				want = k.Reason
			}
		}
		if reason != want {
			r.Fatalf("job %d is to end for %q, want %q", id, reason, want)
		}
	}
	if rows.Err() != nil || seen != len(leases) {
		r.Fatal(seen, len(leases), rows.Err())
	}
}

// A reader that comes after its steps are gone is told so; the newest step says where they were.
func TestChangedMissed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.busy2(t)
	f.now = f.now.Add(2 * stepsKept)
	f.busy2(t)
	f.append(t, entry.Tick{})
	f.foldAll(t, 1)
	want := func(after int64, missed bool, tasks ...int64) {
		t.Helper()
		p, err := Changed(t.Context(), f.pool, after, 10)
		if err != nil || p.Missed != missed || p.UpTo != 3 || !slices.Equal(p.Tasks, tasks) {
			t.Errorf("after %d: %+v, %v", after, p, err)
		}
	}
	want(0, false, 1)
	if _, err := f.Retain(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	want(0, true, 1)
	want(1, false, 1)
	want(2, false)
	f.now = f.now.Add(2 * stepsKept)
	f.append(t, entry.Tick{})
	f.foldAll(t, 1)
	if _, err := f.Retain(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	if p, err := Changed(t.Context(), f.pool, 0, 10); !p.Missed || p.UpTo != 4 || err != nil {
		t.Error(p, err)
	}
}
