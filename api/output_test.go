package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/internal/live"
	"github.com/divvyhq/divvy/internal/relay"
)

// outputDispatcher has one job, whose attempts the test says.
type outputDispatcher struct {
	*fakeDispatcher
	job  dispatcher.JobRow
	logs map[int]string
}

func (d *outputDispatcher) Job(context.Context, int64) (dispatcher.JobRow, error) {
	return d.job, d.err
}

func (d *outputDispatcher) JobLog(_ context.Context, _ int64, attempt int) (string, error) {
	log, ok := d.logs[attempt]
	if !ok {
		return "", lookup.ErrNoAttempt
	}
	return log, nil
}

// LeaseQueues has leases as tokenFor makes them, at CERN.
func (d *outputDispatcher) LeaseQueues(_ context.Context, leases []string) (map[string]string, error) {
	at := map[string]string{}
	for _, l := range leases {
		at[l] = "CERN"
	}
	return at, d.err
}

func tokenFor(job int64, attempt int) string {
	b := make([]byte, 20)
	binary.BigEndian.PutUint64(b, uint64(job))
	binary.BigEndian.PutUint32(b[8:], uint32(attempt))
	return base64.RawURLEncoding.EncodeToString(b)
}

func attempts(ended ...bool) (all []dispatcher.Attempt) {
	at := time.Unix(1e9, 0)
	for i, over := range ended {
		a := dispatcher.Attempt{Attempt: i + 1, Queue: "CERN", Pilot: "p"}
		if over {
			a.EndedAt = &at
		}
		all = append(all, a)
	}
	return all
}

func withJob(d *outputDispatcher) func(*Config) {
	return func(c *Config) {
		d.fakeDispatcher = c.Dispatcher.(*fakeDispatcher)
		c.Dispatcher = d
	}
}

// said sends chunks for what is wanted of a pilot.
func said(t *testing.T, b *bench, report wire.OutputReport) []wire.OutputWanted {
	t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	w := b.call("POST", "/v1/leases/output", string(text))
	var reply wire.OutputReply
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return reply.Wanted
}

func outputOf(t *testing.T, b *bench, query string) (out wire.Output) {
	t.Helper()
	w := b.call("GET", "/v1/jobs/7/output"+query, "")
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	return out
}

// What a pilot sends of an attempt reaches its followers, at the daemon that decides and at any other.
func TestOutputOfARunningJob(t *testing.T) {
	job := dispatcher.JobRow{ID: 7, State: "leased", Attempt: 1, Attempts: attempts(false)}
	for _, ways := range []struct {
		name             string
		pilotAt, readsAt int // 0: the leader
	}{{"both at the leader", 0, 0}, {"the follower elsewhere", 0, 1}, {"the pilot elsewhere", 1, 0}, {"both elsewhere", 1, 1}} {
		t.Run(ways.name, func(t *testing.T) {
			leader := newBench(t, withJob(&outputDispatcher{job: job}))
			all := []*bench{leader, newBench(t, withJob(&outputDispatcher{job: job}), follows(leader))}
			pilotAt, readsAt := all[ways.pilotAt], all[ways.readsAt]
			first := outputOf(t, readsAt, "")
			if len(first.Chunks) > 0 || first.Attempt != 1 || first.Over || first.State != "leased" {
				t.Errorf("before anything was written: %+v", first)
			}
			wanted := said(t, pilotAt, wire.OutputReport{Pilot: "p", WaitS: 10})
			if len(wanted) != 2 || wanted[0] != (wire.OutputWanted{Job: 7, Attempt: 1, Stream: wire.Stdout}) {
				t.Fatalf("wanted %+v", wanted)
			}
			said(t, pilotAt, wire.OutputReport{Pilot: "p", Chunks: []wire.OutputChunk{
				{Lease: tokenFor(7, 1), Stream: wire.Stdout, Data: []byte("hello\n")}, {Lease: tokenFor(7, 1), Stream: wire.Stderr, Data: []byte{0, 255}, End: true}}})
			out := outputOf(t, readsAt, "?wait=20&from="+first.Next)
			if len(out.Chunks) != 2 || string(out.Chunks[0].Data) != "hello\n" || string(out.Chunks[1].Data) != "\x00\xff" || out.Chunks[1].Stream != wire.Stderr || out.Next != "1.6.2" {
				t.Errorf("output %+v", out)
			}
			if other := said(t, pilotAt, wire.OutputReport{Pilot: "another"}); len(other) > 0 {
				t.Errorf("wanted of another pilot: %+v", other)
			}
		})
	}
}

// What was not followed to its end has the end that is kept; a job with several attempts is followed through all of them.
func TestOutputOfEndedAttempts(t *testing.T) {
	at := time.Unix(1e9, 0)
	d := &outputDispatcher{job: dispatcher.JobRow{ID: 7, State: "ready", Attempt: 1}, logs: map[int]string{1: "first\n", 2: "second\n"}}
	b := newBench(t, withJob(d))
	srv := httptest.NewServer(b.handler)
	defer srv.Close()
	cl, err := client.New(client.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	text, states := "", ""
	for out, err := range cl.Jobs().Follow(t.Context(), 7, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Chunks {
			text += c.Stream + " " + string(c.Data)
		}
		if states += out.State + " "; out.State == "ready" {
			d.job = dispatcher.JobRow{ID: 7, State: "failed", Attempt: 2, Attempts: attempts(true, true), EndedAt: &at}
		}
	}
	if text != "tail second\n" || states != "ready failed " {
		t.Errorf("%q, states %s", text, states)
	}
	if out := outputOf(t, b, "?from=1.0.0"); len(out.Chunks) != 1 || string(out.Chunks[0].Data) != "first\n" || out.Over || out.Next != "2.0.0" {
		t.Errorf("from the first attempt on: %+v", out)
	}
	if out := outputOf(t, b, "?attempt=1"); len(out.Chunks) != 1 || !out.Over {
		t.Errorf("the first attempt alone: %+v", out)
	}
	for query, want := range map[string]int{"?attempt=3": 404, "?from=x": 422, "?from=1.2.-3": 422, "?wait=31": 422} {
		if w := b.call("GET", "/v1/jobs/7/output"+query, ""); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", query, w.Code, want, w.Body)
		}
	}
}

func TestOutputReportsAreChecked(t *testing.T) {
	b := newBench(t, withRoles)
	for body, want := range map[string]int{
		`{"pilot":""}`:                                                         422,
		`{"pilot":"p","wait_s":61}`:                                            422,
		`{"pilot":"p","chunks":[{"lease":""}]}`:                                422,
		`{"pilot":"p","chunks":[{"lease":"x","stream":"stdin"}]}`:              422,
		`{"pilot":"p","chunks":[{"lease":"x","stream":"stdout","offset":-1}]}`: 422,
		`{"pilot":"p","chunks":[{"lease":"no lease","stream":"stdout"}]}`:      200,
	} {
		if w := b.call("POST", "/v1/leases/output", body, "Authorization", bearer("pilot")); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
}

// A pilot's call that waits at the leader is answered when the daemon stops to which it came.
func TestOutputThatIsHandedOnEndsWithTheDaemon(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	o := outputs{live.New(live.Limits{}), &Relay{Ask: func(ctx context.Context, _ string, _ []byte) (relay.Reply, error) {
		close(asked)
		<-ctx.Done()
		return relay.Reply{}, ctx.Err()
	}}}
	answered := make(chan bool)
	go func() {
		_, there := o.Elsewhere(t.Context(), pilots.Said{Pilot: "p", WaitS: 60})
		answered <- there
	}()
	<-asked
	o.Close()
	if <-answered {
		t.Error("an answer of a leader who gave none")
	}
	if wanted := o.Wait(t.Context(), "p", nil, time.Minute); wanted != nil {
		t.Errorf("wanted %v", wanted)
	}
}
