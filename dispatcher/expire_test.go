package dispatcher

import (
	"testing"
	"time"
)

func TestSweepPauseFollowsWhatSweepsTake(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		daemons int
		want    time.Duration
	}{
		{0, 1, sweepEvery},
		{10 * time.Millisecond, 1, sweepEvery},
		{400 * time.Millisecond, 1, 8 * time.Second},
		{400 * time.Millisecond, 4, 32 * time.Second},
		{400 * time.Millisecond, 0, 8 * time.Second},
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
