package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// Each lease that was granted comes by the wheel, ended or not; all that are due are looked at in one step, or the wheel
// would grow for ever where there are many. Leases of a daemon that is no more are found by sweeps, one after the other
// while there are as many.
func TestExpireKeepsUp(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10_000))
	d, other := f.daemon(), f.daemon()
	const held = 2*expireBatch + 100
	f.enqueue(batch{share: "A", n: held + 1})
	for left := held; left > 0; {
		reply, err := other.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: held}, Max: min(left, 1000), WaitS: 5})
		if err != nil || len(reply.Leases) == 0 {
			t.Fatalf("%d leases, %v", len(reply.Leases), err)
		}
		left -= len(reply.Leases)
	}
	pull1(t, d, "q")
	d.mu.Lock()
	for id := int64(1); id <= 3*expireBatch; id++ {
		d.wheel.add(time.Now().Add(-time.Minute), 1_000_000+id)
	}
	d.mu.Unlock()
	if n, err := d.Expire(context.Background()); n != 0 || err != nil {
		t.Errorf("%d expired, %v", n, err)
	}
	d.mu.Lock()
	if n := len(d.wheel.due(time.Now(), 1<<30)); n != 0 {
		t.Errorf("%d are left in the wheel", n)
	}
	d.swept = time.Time{}
	d.mu.Unlock()
	pgtest.Age(t, f.pool, "leases", "expires_at", time.Hour)
	for total, steps := 0, 0; total < held+1; steps++ {
		n, err := d.Expire(context.Background())
		if total += n; err != nil || n == 0 || steps > 3 {
			t.Fatalf("step %d: %d expired, %d in all, %v", steps, n, total, err)
		}
	}
	f.recount()
}

func TestSweepPauseFollowsWhatSweepsTake(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		daemons int
		want    time.Duration
	}{
		{0, 1, sweepEvery},
		{10 * time.Millisecond, 1, sweepEvery},
		{100 * time.Millisecond, 1, 10 * time.Second},
		{100 * time.Millisecond, 4, 40 * time.Second},
		{100 * time.Millisecond, 0, 10 * time.Second},
		{10 * time.Second, 1, sweepSeldom},
	} {
		if got := sweepPause(c.took, c.daemons); got != c.want {
			t.Errorf("%d daemons, a sweep took %v: pause %v, want %v", c.daemons, c.took, got, c.want)
		}
	}
}

func TestBacklogPauseFollowsWhatItTakes(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		daemons int
		want    time.Duration
	}{
		{time.Millisecond, 1, backlogEvery},
		{20 * time.Millisecond, 10, 4 * time.Second},
		{time.Second, 10, backlogSeldom},
	} {
		if got := backlogPause(c.took, c.daemons); got != c.want {
			t.Errorf("%d daemons, it took %v: pause %v, want %v", c.daemons, c.took, got, c.want)
		}
	}
}
