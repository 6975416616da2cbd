package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
)

// pandaDispatcher is a fakeDispatcher that knows the lease of every attempt.
type pandaDispatcher struct{ *fakeDispatcher }

func (pandaDispatcher) Holdings(_ context.Context, of []dispatcher.HeldJob) ([]dispatcher.Holding, error) {
	all := make([]dispatcher.Holding, len(of))
	for i, h := range of {
		all[i] = dispatcher.Holding{Lease: "L1", JobState: "leased", Attempt: h.Attempt}
	}
	return all, nil
}

func (pandaDispatcher) Late(context.Context, dispatcher.HeldJob, dispatcher.Result) (bool, error) {
	return false, nil
}

func (pandaDispatcher) KeepLog(context.Context, string, string) error { return nil }

// withPanda serves PanDA's calls by the bench's fakes.
func withPanda(c *Config) {
	c.Panda = panda.Config{Dispatcher: pandaDispatcher{c.Dispatcher.(*fakeDispatcher)}, Tasks: c.Tasks, Wait: 5 * time.Second}
}

// PanDA's pulls and ends are those of the dispatcher; what it says comes back as PanDA says it.
func TestPandaServed(t *testing.T) {
	b := newBench(t, withPanda)
	fails := error(nil)
	b.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		return dispatcher.PullReply{Leases: []dispatcher.Lease{{Lease: "L9", Job: 9, Attempt: 1, Command: []string{"true"}}}}, fails
	}
	getJob := func() string {
		return b.call("POST", "/server/panda/getJob", `{"siteName":"CERN","prodSourceLabel":"managed","mem":2000}`).Body.String()
	}
	if got := getJob(); !strings.Contains(got, `"StatusCode":0,"PandaID":9,`) {
		t.Error(got)
	}
	if p := b.dispatcher.pulled; p.Queue != "CERN" || p.Slot.MemoryMB != 2000 || len(p.Only.Labels) != 2 || p.WaitS != 5 {
		t.Errorf("%+v", p)
	}
	for err, want := range map[error]string{
		dispatcher.ErrNoJobs:                              `{"StatusCode":20,"errorDialog":"no jobs in PanDA"}`,
		fmt.Errorf("CERN: %w", dispatcher.ErrQueueClosed): `{"StatusCode":20,"errorDialog":"no jobs in PanDA: CERN: queue takes no jobs"}`,
		dispatcher.ErrStopping:                            `{"StatusCode":10,"errorDialog":"timed out, try again"}`,
	} {
		fails = err
		if got := getJob(); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
	b.call("POST", "/server/panda/updateJob", `{"jobId":"9","attemptNr":1,"state":"finished"}`)
	if r := b.dispatcher.ended.Results; len(r) != 1 || r[0].Lease != "L1" {
		t.Errorf("%+v", b.dispatcher.ended)
	}
}

// PanDA's calls take the tokens of the native API, and a pilot's Origin does not matter unless the token has some.
func TestPandaGuard(t *testing.T) {
	token := "0123456789abcdef"
	for _, c := range []struct {
		closed bool
		header []string
		status int
		want   string
	}{
		{false, []string{"Authorization", "Bearer any", "Origin", "wlcg.pilot"}, http.StatusOK, `"StatusCode":0,`},
		{false, []string{"Origin", "https://elsewhere.example.org"}, http.StatusForbidden, "foreign web page"},
		{true, []string{"Authorization", "Bearer " + token, "Origin", "wlcg.pilot"}, http.StatusOK, `"StatusCode":0,`},
		{true, []string{"Authorization", "Bearer other"}, http.StatusOK, `"StatusCode":60,`}, // what PanDA's old API says, it says with 200
	} {
		b := newBench(t, withPanda, func(cfg *Config) {
			cfg.Book, cfg.Closed = access.NewBook(nil, access.Fixed{Hash: access.HashOf(token), Caller: &access.Caller{Name: "ops", From: "f", Role: access.Operator}}), c.closed
		})
		if w := b.call("POST", "/server/panda/getJob", `{"siteName":"CERN"}`, c.header...); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%v: %d %s", c.header, w.Code, w.Body)
		}
		if w := b.call("GET", "/trf/runShell", ""); w.Code != http.StatusOK {
			t.Errorf("runShell: %d", w.Code)
		}
	}
}
