package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/dispatcher"
)

// slowDispatcher answers nothing before its gate opens.
type slowDispatcher struct {
	*fakeDispatcher
	gate chan struct{}
	came atomic.Int64
}

func (f *slowDispatcher) Renew(context.Context, dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	f.came.Add(1)
	<-f.gate
	return dispatcher.RenewReply{}, nil
}

func (f *slowDispatcher) Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	f.came.Add(1)
	<-f.gate
	return dispatcher.FinishReply{}, nil
}

// await polls until a counter has a value.
func await(t *testing.T, what string, of func() int64, want int64) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); of() != want; {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d, want %d", what, of(), want)
		}
		time.Sleep(time.Millisecond)
	}
}

func (b *bench) mustBeShed(got *httptest.ResponseRecorder) {
	b.t.Helper()
	p := b.problem(got, http.StatusServiceUnavailable)
	if after, err := strconv.Atoi(got.Header().Get("Retry-After")); p.Code != "overloaded" || err != nil || after < 3 || after > 6 {
		b.t.Errorf("%s, Retry-After %q: want overloaded, to be repeated in 3 to 6 s", got.Body, got.Header().Get("Retry-After"))
	}
}

// When renewals and ends pile up, pulls are refused, and renewals and ends are still taken.
func TestPullsAreShedBeforeReports(t *testing.T) {
	slow := &slowDispatcher{fakeDispatcher: &fakeDispatcher{}, gate: make(chan struct{})}
	b := newBench(t, func(c *Config) { c.Dispatcher = slow })
	var late atomic.Int64
	since := b.server.load.Now
	b.server.load.Now = func() int64 { return since() + late.Load() }
	const renewal, end, pull = `{"pilot":"p","leases":[{"lease":"L","state":"running"}]}`, `{"pilot":"p","results":[{"lease":"L","outcome":"finished"}]}`, `{"queue":"CERN","pilot":"p"}`
	var all sync.WaitGroup
	say := func(path, body string) {
		all.Go(func() {
			if got := b.call(http.MethodPost, path, body); got.Code != http.StatusOK {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		})
	}
	for range pilots.ReportsMany - 1 {
		say(edge.PathRenew, renewal)
	}
	await(t, "renewals under way", slow.came.Load, pilots.ReportsMany-1)
	late.Store(int64(time.Minute))
	if got := b.call(http.MethodPost, edge.PathPulls, pull); got.Code != http.StatusOK {
		t.Errorf("with few renewals under way: %d %s", got.Code, got.Body)
	}
	late.Store(0)
	say(edge.PathFinish, end)
	await(t, "reports under way", slow.came.Load, pilots.ReportsMany)
	if got := b.call(http.MethodPost, edge.PathPulls, pull); got.Code != http.StatusOK {
		t.Errorf("with many that have just come: %d %s", got.Code, got.Body)
	}
	late.Store(int64(time.Minute))
	b.mustBeShed(b.call(http.MethodPost, edge.PathPulls, pull))
	say(edge.PathRenew, renewal)
	say(edge.PathFinish, end)
	await(t, "reports under way", slow.came.Load, pilots.ReportsMany+2)
	close(slow.gate)
	all.Wait()
	if got := b.call(http.MethodPost, edge.PathPulls, pull); got.Code != http.StatusOK {
		t.Errorf("when they are answered: %d %s", got.Code, got.Body)
	}
}

// Pulls that wait take memory, so that there is a bound to them.
func TestTooManyPullsWait(t *testing.T) {
	gate, came := make(chan struct{}), atomic.Int64{}
	fake := &fakeDispatcher{pull: func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		came.Add(1)
		<-gate
		return dispatcher.PullReply{}, dispatcher.ErrNoJobs
	}}
	b := newBench(t, func(c *Config) { c.Dispatcher = fake })
	b.server.load.Most = 2
	const pull = `{"queue":"CERN","pilot":"p"}`
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if got := b.call(http.MethodPost, edge.PathPulls, pull); got.Code != http.StatusNoContent {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	await(t, "pulls that wait", came.Load, 2)
	b.mustBeShed(b.call(http.MethodPost, edge.PathPulls, pull))
	close(gate)
	all.Wait()
	if got := b.call(http.MethodPost, edge.PathPulls, pull); got.Code != http.StatusNoContent {
		t.Errorf("when they are answered: %d %s", got.Code, got.Body)
	}
}
