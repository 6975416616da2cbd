package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/dispatcher"
)

// Calls of PanDA's pilots, of both generations.
const (
	pandaGetJob    = "/server/panda/getJob"
	pandaUpdateJob = "/server/panda/updateJob"
	pandaAcquire   = "/api/v1/pilot/acquire_jobs"
	pandaUpdate    = "/api/v1/pilot/update_job"
)

// mustShedPanda has a pilot of each generation ask for a job that it is not given: it is told to try again, never that there is none.
func (b *bench) mustShedPanda(when string) {
	b.t.Helper()
	for path, c := range map[string]struct{ body, want string }{
		pandaGetJob:  {`{"siteName":"CERN"}`, `{"StatusCode":10,"errorDialog":"timed out, try again"}`},
		pandaAcquire: {`{"site_name":"CERN"}`, `{"success":false,"message":"timed out, try again","data":null}`},
	} {
		if got := b.call(http.MethodPost, path, c.body); got.Code != http.StatusOK || got.Body.String() != c.want {
			b.t.Errorf("%s: %s: %d %s", when, path, got.Code, got.Body)
		}
	}
}

// slowPanda answers nothing that pilots report before its gate opens; of a job below 100 it does not even find the lease, and
// one from 200 on has none any more.
type slowPanda struct {
	pandaDispatcher
	*slowDispatcher
}

func (s slowPanda) Pull(ctx context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	return s.slowDispatcher.Pull(ctx, r)
}

func (s slowPanda) Renew(ctx context.Context, r dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	return s.slowDispatcher.Renew(ctx, r)
}

func (s slowPanda) Finish(ctx context.Context, r dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	if _, err := s.slowDispatcher.Finish(ctx, r); err != nil {
		return dispatcher.FinishReply{}, err
	}
	return dispatcher.FinishReply{Verdicts: []dispatcher.Verdict{{Verdict: dispatcher.Recorded}}}, nil
}

func (s slowPanda) Holdings(ctx context.Context, of []dispatcher.HeldJob) ([]dispatcher.Holding, error) {
	if of[0].Job < 100 {
		s.came.Add(1)
		<-s.gate
	}
	if of[0].Job >= 200 {
		return make([]dispatcher.Holding, len(of)), nil
	}
	return s.pandaDispatcher.Holdings(ctx, of)
}

func (s slowPanda) Late(context.Context, dispatcher.HeldJob, dispatcher.Result) (bool, error) {
	s.came.Add(1)
	<-s.gate
	return false, nil
}

// Heartbeats and ends of PanDA's pilots are load: when they pile up, pulls are refused, native ones and PanDA's; they themselves
// are still taken.
func TestPandaReportsShedPulls(t *testing.T) {
	for name, c := range map[string]struct{ path, body string }{
		"heartbeats":          {pandaUpdateJob, `{"jobId":"100","attemptNr":1,"state":"running"}`},
		"look-ups of leases":  {pandaUpdate, `{"job_id":9,"attempt_nr":1,"job_status":"running"}`},
		"ends":                {pandaUpdate, `{"job_id":100,"attempt_nr":1,"job_status":"finished"}`},
		"ends that are late":  {pandaUpdateJob, `{"jobId":"200","attemptNr":1,"state":"finished"}`},
		"heartbeats, bundled": {"/api/v1/pilot/update_jobs_bulk", `{"job_list":[{"job_id":100,"attempt_nr":1,"job_status":"running"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			slow := &slowDispatcher{gate: make(chan struct{})}
			b := newBench(t, withPanda, func(c *Config) {
				fake := c.Dispatcher.(*fakeDispatcher)
				slow.fakeDispatcher = fake
				c.Panda.Dispatcher = slowPanda{pandaDispatcher{fake}, slow}
			})
			var late atomic.Int64
			since := b.server.load.Now
			b.server.load.Now = func() int64 { return since() + late.Load() }
			var all sync.WaitGroup
			say := func() {
				all.Go(func() {
					if got := b.call(http.MethodPost, c.path, c.body); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "try again") {
						t.Errorf("%s: %d %s", c.path, got.Code, got.Body)
					}
				})
			}
			for range pilots.ReportsMany {
				say()
			}
			await(t, "reports under way", slow.came.Load, pilots.ReportsMany)
			const pull = `{"queue":"CERN","pilot":"p"}`
			if got := b.call(http.MethodPost, edge.PathPulls, pull); got.Code != http.StatusOK {
				t.Errorf("with many that have just come: %d %s", got.Code, got.Body)
			}
			late.Store(int64(time.Minute))
			b.mustBeShed(b.call(http.MethodPost, edge.PathPulls, pull))
			b.mustShedPanda("reports are late")
			if got := b.call(http.MethodGet, "/metrics", "").Body.String(); !strings.Contains(got, "\ndivvy_pulls_shed_total 3\n") {
				t.Error("one native pull and two of PanDA's are not counted as refused")
			}
			say()
			await(t, "reports under way", slow.came.Load, pilots.ReportsMany+1)
			close(slow.gate)
			all.Wait()
			if got := b.call(http.MethodPost, pandaGetJob, `{"siteName":"CERN"}`); !strings.Contains(got.Body.String(), `"PandaID":7,`) {
				t.Errorf("when they are answered: %s", got.Body)
			}
		})
	}
}

// Pulls of PanDA's pilots take memory as others do: there is one bound to all of them.
func TestTooManyPandaPullsWait(t *testing.T) {
	gate, came := make(chan struct{}), atomic.Int64{}
	b := newBench(t, withPanda)
	b.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		came.Add(1)
		<-gate
		return dispatcher.PullReply{}, dispatcher.ErrNoJobs
	}
	b.server.load.Most = 2
	const none = "no jobs in PanDA"
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if got := b.call(http.MethodPost, pandaGetJob, `{"siteName":"CERN"}`); !strings.Contains(got.Body.String(), none) {
				t.Error(got.Body)
			}
		})
	}
	await(t, "pulls that wait", came.Load, 2)
	b.mustShedPanda("two wait")
	b.mustBeShed(b.call(http.MethodPost, edge.PathPulls, `{"queue":"CERN","pilot":"p"}`))
	close(gate)
	all.Wait()
	if got := b.call(http.MethodPost, pandaGetJob, `{"siteName":"CERN"}`); !strings.Contains(got.Body.String(), none) {
		t.Errorf("when they are answered: %s", got.Body)
	}
}
