package fold

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// feeds fails where a reader that follows step by step misses a task whose counts changed.
func (h *history) feeds(t *testing.T, r *rapid.T) {
	changed := map[int64]bool{}
	for at := int64(0); ; {
		p, err := Changed(t.Context(), h.pool, at, rapid.IntRange(1, 5).Draw(r, "steps"))
		if err != nil || p.UpTo < at || p.UpTo > h.last.Seq {
			r.Fatal(p, err)
		}
		for _, task := range p.Tasks {
			changed[task] = true
		}
		if at == h.last.Seq {
			break
		}
		at = p.UpTo
	}
	for _, c := range h.tables().Sums.Tasks {
		if !changed[c.Task] {
			r.Fatalf("task %d has counts, and no step has changed it", c.Task)
		}
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
