package door

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Requests that are in time are never cancelled, however they follow each other; the first that is not is, on time.
func TestLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := WithLane(t.Context(), nil)
		l := ctx.Value(laneKey{}).(*lane)
		for _, r := range []struct{ within, takes, pause time.Duration }{
			{60, 59, 0}, {60, 1, 0}, {360, 359, 0}, {60, 59, 100}, {60, 59, 1}, {120, 110, 3600}, {60, 59, 0}, {360, 10, 0}, {60, 59, 60},
		} {
			l.begin(r.within*time.Second, time.Minute)
			time.Sleep(r.takes * time.Second)
			synctest.Wait()
			if l.end() || ctx.Err() != nil {
				t.Fatalf("%v: cancelled", r)
			}
			time.Sleep(r.pause * time.Second)
			synctest.Wait()
		}
		began := time.Now()
		l.begin(90*time.Second, time.Minute)
		<-ctx.Done()
		if took := time.Since(began); took != 90*time.Second || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("cancelled after %v: %v", took, context.Cause(ctx))
		}
		if !l.end() {
			t.Error("the request does not know it")
		}
	})
}
