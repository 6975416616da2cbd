package dispatcher

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func sorted(counts []Count) []Count {
	slices.SortFunc(counts, func(a, b Count) int {
		return strings.Compare(a.State+a.Share+a.Class+strings.Join(a.Queues, ","), b.State+b.Share+b.Class+strings.Join(b.Queues, ","))
	})
	return counts
}

func TestCounts(t *testing.T) {
	other := slots("other", 4)
	other.Pool = "gpu"
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10), other)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 5})
	f.enqueue(batch{share: "B", n: 2, cores: 8, attempts: 1, need: job.Requirements{Queues: []string{"q"}}})
	cancelled := f.enqueue(batch{share: "A", n: 1})
	a := pull1(t, d, "other")
	finish(t, d, Finished, a)
	held := pull1(t, d, "q")
	wide, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}, WaitS: 5})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, d, Failed, wide.Leases...)
	if err := d.KillJob(t.Context(), cancelled[0]); err != nil {
		t.Fatal(err)
	}
	step(t, d.Fold)
	want := []Count{
		{Share: held.Share, Class: "SCORE", State: "leased", Queues: []string{"q"}, Pools: []string{"default"}, N: 1},
		{Share: "A", Class: "SCORE", State: "ready", Queues: []string{"q", "other"}, Pools: []string{"default", "gpu"}, N: 3},
		{Share: "B", Class: "MCORE", State: "ready", Queues: []string{"q"}, Pools: []string{"default"}, N: 1},
	}
	eventually(t, "the daemon has read the kill", func() bool { return cmp.Equal(want, sorted(d.Counts())) })
	ended, err := d.Ended(t.Context(), 12*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want = []Count{
		{Share: "A", Class: "SCORE", State: "cancelled", N: 1},
		{Share: "B", Class: "MCORE", State: "failed", Queues: []string{"q"}, Pools: []string{"default"}, N: 1},
		{Share: "A", Class: "SCORE", State: "finished", Queues: []string{"other"}, Pools: []string{"gpu"}, N: 1},
	}
	if diff := cmp.Diff(want, sorted(ended)); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	pgtest.Age(t, f.pool, "end_counters", "hour", 14*time.Hour)
	if ended, err = d.Ended(t.Context(), 12*time.Hour); err != nil || len(ended) != 0 {
		t.Errorf("of the last 12 hours: %v, %v; want none", ended, err)
	}
	if ended, err = d.Ended(t.Context(), 24*time.Hour); err != nil || len(ended) != 3 {
		t.Errorf("of the last day: %v, %v; want all", ended, err)
	}
	pgtest.Age(t, f.pool, "end_counters", "hour", 9*24*time.Hour)
	step(t, d.Purge)
	var left int
	if f.scan(&left, "SELECT count(*) FROM end_counters"); left != 0 {
		t.Errorf("%d rows are not purged", left)
	}
}
