package fold

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// lessees appends jobs 1 to n of task 1 and share 1, which hold claims two by two, and their leases.
func (f *fixture) lessees(t *testing.T, n int64) {
	t.Helper()
	entries := []entry.Entry{entry.Tick{Now: f.now}, entry.Adopted{Number: 2}}
	for id := int64(1); id <= n; id += 2 {
		entries = append(entries, entry.Claimed{Claim: id, Task: 1, Key: "k", Jobs: 2, Template: shares.ClaimTemplate{Name: "t", Resources: map[string]int64{"db": 1}}},
			entry.Joined{Task: 1, Low: id, High: id + 1, Claims: []int64{id}})
	}
	entries = append(entries, entry.Enqueued{Task: 1, Share: 1, Low: 1, High: n, Attempt: 1, User: "ann"})
	for id := int64(1); id <= n; id++ {
		entries = append(entries, entry.Granted{Job: id, Attempt: 1, Task: 1, Share: 1, Queue: 1, Units: 1000, Pilot: "p", Node: "n"})
	}
	f.append(t, entries...)
	f.foldAll(t, 1)
}

// held is how many leases shares are charged for.
func (f *fixture) held(t *testing.T) map[shares.ShareID]int64 {
	t.Helper()
	held := map[shares.ShareID]int64{}
	for _, c := range f.read(t).Sums.Shares {
		if c.Held != 0 {
			held[c.Share] = c.Held
		}
	}
	return held
}

// written is how many rows of held the last step wrote.
func (f *fixture) written(t *testing.T) (n int) {
	t.Helper()
	if err := f.pool.QueryRow(t.Context(), "SELECT count(*) FROM held h, folded f WHERE h.xmin = f.xmin").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Verbs about leases are a row each, whatever the number of leases; these are charged, ordered to end and come back by it.
func TestVerbsWriteNoLeases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.lessees(t, 6)
	if n := f.written(t); n != 6 {
		t.Fatalf("%d rows of held are written, want 6", n)
	}
	want := func(leases map[shares.ShareID]int64, payers ...int) {
		t.Helper()
		if odd := f.foldAll(t, 1); len(odd) > 0 {
			t.Error(odd)
		}
		if n := f.written(t); n > 0 {
			t.Errorf("%d rows of held are written", n)
		}
		if got := f.held(t); len(got) != len(leases) {
			t.Errorf("held %v, want %v", got, leases)
		}
		for share, n := range leases {
			if got := f.held(t)[share]; got != n {
				t.Errorf("share %d holds %d, want %d", share, got, n)
			}
		}
		var got []int
		if err := f.pool.QueryRow(t.Context(), "SELECT array_agg(share ORDER BY id) FROM claims").Scan(&got); err != nil || !slices.Equal(got, payers) {
			t.Errorf("claims are charged to %v, want %v: %v", got, payers, err)
		}
		f.sound(t)
	}
	f.append(t, entry.Moved{Task: 1, Low: 1, High: 6, From: 1, Share: 2, Running: true})
	want(map[shares.ShareID]int64{2: 6}, 2, 2, 2)
	f.append(t, entry.Moved{Task: 1, Low: 1, High: 3, From: 2, Share: 3, Running: true}, entry.Moved{Task: 1, Low: 1, High: 5, From: 2, Share: 4, Running: true},
		entry.Moved{Task: 1, Low: 0, High: math.MaxInt64, From: 1, Share: 5, Running: true}, entry.Moved{Task: 1, Low: 6, High: 6, Share: 6})
	want(map[shares.ShareID]int64{3: 3, 4: 2, 2: 1}, 3, 4, 4)
	f.append(t, entry.Moved{Task: 1, Low: 6, High: 6, From: 6, Share: 7, Running: true})
	want(map[shares.ShareID]int64{3: 3, 4: 2, 7: 1}, 3, 4, 7)
	f.append(t, entry.Placed{Task: 1, Low: 1, High: 9, Place: 5}, entry.Placed{Task: 1, Low: 1, High: 10, Place: 6},
		entry.Killed{Task: 1, Low: 1, High: 2, Reason: "killed", GraceS: 7}, entry.Killed{Task: 1, Low: 0, High: 3, Reason: "aborted", GraceS: 8})
	want(map[shares.ShareID]int64{3: 3, 4: 2, 7: 1}, 3, 4, 7)
	if got := f.read(t); len(got.Kills) != 1 || len(got.Moves) != 7 {
		t.Errorf("kills %v, moves %v: want those that count", got.Kills, got.Moves)
	}
	f.now = f.now.Add(time.Second)
	ends := []entry.Entry{entry.Ended{Job: 1, Attempt: 1, Outcome: entry.Finished, Next: entry.Undone}}
	for id := int64(2); id <= 6; id++ {
		ends = append(ends, entry.Ended{Job: id, Attempt: 1, Outcome: entry.Failed, Next: entry.Again})
	}
	f.append(t, ends...)
	f.foldAll(t, 1)
	f.sound(t)
	got := f.read(t)
	like := func(share shares.ShareID) Like { return Like{1, 6, share, 0, 2, Ready} }
	if want := []Range{{2, 3, like(3)}, {4, 5, like(4)}, {6, 6, like(7)}}; !slices.Equal(got.Ranges, want) {
		t.Errorf("ranges %+v, want %+v", got.Ranges, want)
	}
	if len(got.Kills)+len(got.Moves) > 0 || got.Sums.Tasks[0].Cancelled != 1 {
		t.Errorf("kills %v, moves %v, counts %+v: the task has no lease", got.Kills, got.Moves, got.Sums.Tasks)
	}
}

// What an attempt cost before it was moved stays with the share that had it.
func TestMovedUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.append(t, entry.Shaped{})
	f.lessees(t, 2)
	f.now = f.now.Add(time.Minute)
	f.append(t, entry.Moved{Task: 1, Low: 1, High: 1, Share: 2, Running: true})
	f.now = f.now.Add(2 * time.Minute)
	f.append(t, entry.Ended{Job: 1, Attempt: 1, Outcome: entry.Finished, Next: entry.Over}, entry.Ended{Job: 2, Attempt: 1, Outcome: entry.Finished, Next: entry.Over})
	f.foldAll(t, 1)
	f.sound(t)
	used := map[shares.ShareID]time.Duration{}
	for _, u := range f.read(t).Sums.Hours {
		used[u.Share] += time.Duration(u.UnitMS/1000) * time.Millisecond
		if n := u.Finished; n != 1 {
			t.Errorf("share %d finished %d, want one", u.Share, n)
		}
	}
	if used[1] != 4*time.Minute || used[2] != 2*time.Minute {
		t.Errorf("used %v: want four minutes of share 1, and two of share 2", used)
	}
}

// Texts go into the partition of their day, which is there the day before, and leave with it.
func TestTexts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.busy2(t)
	f.foldAll(t, 1)
	write := func(at time.Time) error {
		_, err := f.pool.Exec(t.Context(), "INSERT INTO attempt_texts (job_id, attempt, ended_on, log) VALUES (1, 1, $1, 'text')", at)
		return err
	}
	for _, days := range []int{0, 1} {
		if err := write(noon.AddDate(0, 0, days)); err != nil {
			t.Error(days, err)
		}
	}
	if write(noon.AddDate(0, 0, 2)) == nil {
		t.Error("there is a partition for the day after tomorrow")
	}
	if err := write(time.Now().UTC()); err != nil {
		t.Error("today, as made with the tables:", err)
	}
	if _, err := f.Retain(t.Context(), noon.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := f.pool.QueryRow(t.Context(), "SELECT count(*) FROM attempt_texts").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d texts are left, want two: %v", n, err)
	}
}

// Claims and jobs without a lease that were over long ago go.
func TestRetainClaims(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.lessees(t, 2)
	f.append(t, entry.Unclaimed{Claim: 1}, entry.Enqueued{Task: 1, Share: 1, Low: 3, High: 4, Attempt: 1, User: "ann"}, entry.Killed{Task: 1, Low: 3, High: 4})
	f.append(t, entry.Ended{Job: 1, Attempt: 1, Outcome: entry.Finished, Next: entry.Over}, entry.Ended{Job: 2, Attempt: 1, Outcome: entry.Failed, Next: entry.Over})
	f.foldAll(t, 1)
	f.sound(t)
	for _, c := range []struct {
		before time.Time
		n      int
	}{{f.now, 2}, {f.now.Add(time.Second), 0}} {
		if _, err := f.Retain(t.Context(), c.before); err != nil {
			t.Fatal(err)
		}
		var n int
		err := f.pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM claims WHERE state = 'released') + (SELECT count(*) FROM over_ranges)").Scan(&n)
		if err != nil || n != c.n {
			t.Errorf("before %v: %d are left, want %d: %v", c.before, n, c.n, err)
		}
	}
}
