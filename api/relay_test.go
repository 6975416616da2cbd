package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/internal/relay"
)

// follows makes a bench the daemon that asks another one, which decides.
func follows(there *bench) func(*Config) {
	return func(c *Config) {
		c.Relay = &Relay{Serve: func(relay.Handler) http.Handler { return http.NotFoundHandler() },
			Ask: func(ctx context.Context, path string, body []byte) (relay.Reply, error) {
				if there == nil {
					return relay.Reply{}, errors.New("nobody decides")
				}
				return there.server.question(ctx, path, body), nil
			}}
	}
}

// What was decided of late, who pulls and who holds queues only the daemon that decides knows: its page and any other's say the same.
func TestPagesOfTheDaemonThatDecides(t *testing.T) {
	there := newBench(t)
	asks, alone := newBench(t, follows(there)), newBench(t, follows(nil))
	there.dispatcher.decided = []dispatcher.Decided{{N: 9, Job: 4711, Queue: "CERN", Share: "A"}}
	there.dispatcher.lately = []dispatcher.QueueLately{{Queue: "CERN", Pulls: 1234, Held: []dispatcher.QueueHeld{{Share: "A", Cores: 77}}}}
	asks.dispatcher.err = errors.New("not asked")
	for path, want := range map[string]string{"/decisions?format=json": `"job":4711`, "/queues?format=json": `"pulls":1234`, "/queues/CERN?format=json": `"cores":77`,
		"/v1/queues": `"name":"CERN"`, "/v1/queues/CERN": `"name":"CERN"`, "/v1/jobs/7/explain": `"job":7,`, "/v1/tasks/3/explain": `"task":3,`, "/v1/tasks/3/queues": `"items":[`} {
		if w := asks.call("GET", path, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	for _, path := range []string{"/decisions?format=json", "/queues?format=json", "/v1/queues/CERN", "/v1/jobs/7/explain"} {
		if w := alone.call("GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s when nobody decides: %d %s", path, w.Code, w.Body)
		}
	}
}

// Answers to pilots name the daemon that decides, where that is another; those to people do not.
func TestAnswersNameTheLeader(t *testing.T) {
	leader := "http://other:8470"
	b := newBench(t, func(c *Config) { follows(nil)(c); c.Relay.Leader = func() string { return leader } })
	named := func(method, path, body string) string { return b.call(method, path, body).Header().Get("Divvy-Leader") }
	for _, path := range []string{edge.PathPulls, edge.PathRenew, edge.PathFinish} {
		if got := named("POST", path, `{"pilot":"p","queue":"CERN"}`); got != leader {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := named("GET", "/v1/queues", ""); got != "" {
		t.Errorf("to people: %q", got)
	}
	if leader = ""; named("POST", edge.PathPulls, `{"pilot":"p","queue":"CERN"}`) != "" {
		t.Error("a header without a leader")
	}
}

// A question is answered by what the daemon knows itself. What goes wrong has the status that a client would see, and ends no daemon.
func TestQuestionsOfDaemons(t *testing.T) {
	b := newBench(t)
	ask := func(path, body string) relay.Reply { return b.server.question(t.Context(), path, []byte(body)) }
	var e dispatcher.Explanation
	if r := ask(askExplain, "7"); r.Status != 200 || json.Unmarshal(r.Body, &e) != nil || e.Job != 7 || e.Queues[0].First.Deficit != 2 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	b.dispatcher.err = lookup.ErrNoJob
	for _, c := range []struct {
		path, body string
		status     int
	}{{askFits, "3", 404}, {askExplain, "seven", 400}, {"weather", "{}", 404}} {
		if r := ask(c.path, c.body); r.Status != c.status || len(r.Body) > 0 {
			t.Errorf("%s %s: %d %s", c.path, c.body, r.Status, r.Body)
		}
	}
	b.server.dispatcher = nil
	if r := ask(askQueues, ""); r.Status != 500 {
		t.Errorf("after a panic: %d", r.Status)
	}
}
