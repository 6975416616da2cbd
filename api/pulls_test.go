package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

const goodPull = `{"queue":"CERN","pilot":"p1","slot":{"cores":8},"max":4,"wait_s":0,"request_id":"r1","of_a_later_version":{"x":[1]}}`

func TestPull(t *testing.T) {
	b := newBench(t)
	w := b.call("POST", "/v1/pulls", goodPull)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if !strings.Contains(w.Body.String(), `"lease":"L1"`) || !strings.Contains(w.Body.String(), "a<b") {
		t.Errorf("body: %s", w.Body)
	}
	if got := b.dispatcher.pulled; got.Slot.Cores != 8 || got.Max != 4 || got.RequestID != "r1" {
		t.Errorf("request: %+v", got)
	}
}

// Every error of a pull, and what a pilot sees of it.
func TestPullErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
		retry  bool
	}{
		{fmt.Errorf("pull: %w", dispatcher.ErrUnknownQueue), 404, "unknown_queue", false},
		{dispatcher.ErrQueueClosed, 409, "queue_closed", true},
		{dispatcher.ErrRequestOver, 409, "request_over", false},
		{dispatcher.ErrRequestReused, 422, "request_reused", false},
		{&job.FieldError{Field: "slot.cores", Value: -1, Want: "0 or more"}, 422, "invalid", false},
		{dispatcher.ErrStopping, 503, "stopping", true},
		{&pgconn.PgError{Code: "57P01"}, 503, "database_unavailable", true},
		{fmt.Errorf("pull: %w", context.DeadlineExceeded), 503, "", true},
		{context.Canceled, 499, "client_gone", false},
		{errors.New("secret of the database"), 500, "internal", false},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			b := newBench(t)
			b.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
				return dispatcher.PullReply{}, c.err
			}
			w := b.call("POST", "/v1/pulls", goodPull)
			p := b.problem(w, c.status)
			if c.code != "" && p.Code != c.code {
				t.Errorf("code %q, want %q", p.Code, c.code)
			}
			seconds, _ := strconv.Atoi(w.Header().Get("Retry-After"))
			if (seconds > 0) != c.retry || seconds != p.RetryAfterS {
				t.Errorf("Retry-After %q, retry_after_s %d", w.Header().Get("Retry-After"), p.RetryAfterS)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("an internal error shows: %s", w.Body)
			}
		})
	}
}

func TestPullWithoutJobs(t *testing.T) {
	b := newBench(t)
	b.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		return dispatcher.PullReply{}, fmt.Errorf("pull: %w", dispatcher.ErrNoJobs)
	}
	for wait, most := range map[string]int{"0": 6, "30": 2} {
		w := b.call("POST", "/v1/pulls", `{"queue":"CERN","pilot":"p","wait_s":`+wait+`}`)
		seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if w.Code != http.StatusNoContent || err != nil || seconds < 1 || seconds > most || w.Body.Len() > 0 {
			t.Errorf("wait %s: %d, Retry-After %q, body %q", wait, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	}
}

func TestUnknownQueueNamesTheQueues(t *testing.T) {
	b := newBench(t)
	b.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		return dispatcher.PullReply{}, dispatcher.ErrUnknownQueue
	}
	p := b.problem(b.call("POST", "/v1/pulls", goodPull), 404)
	if p.Hint != "the site has BNL, CERN" {
		t.Errorf("hint %q", p.Hint)
	}
	p = b.problem(b.call("GET", "/v1/queues/CREN", ""), 404)
	if p.Hint != `did you mean "CERN"? the site has BNL, CERN` {
		t.Errorf("hint %q", p.Hint)
	}
}

// Every fault is named, at once.
func TestPullNamesAllFaults(t *testing.T) {
	b := newBench(t)
	p := b.problem(b.call("POST", "/v1/pulls", `{"pilot":"p","max":2000,"wait_s":-1,"slot":{"cores":-4}}`), 422)
	var at []string
	for _, d := range p.Errors {
		at = append(at, d.Location)
		if d.Message == "" {
			t.Errorf("%s: no message", d.Location)
		}
	}
	if got := strings.Join(at, " "); got != "body.queue body.max body.wait_s body.slot.cores" {
		t.Errorf("locations: %s", got)
	}
}

func TestBadBodies(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		body, code, says string
		status           int
	}{
		{"", "no_body", "empty", 400},
		{"{\n\"queue\": }", "bad_json", "line 2, column 10", 400},
		{`{"queue":"a"} x`, "bad_json", "line 1", 400},
		{`{"queue":`, "bad_json", "unexpected end", 400},
		{`{"queue":"a","pilot":"b","slot":{"cores":"8"}}`, "invalid", "body.slot.cores: expected an integer, found string", 422},
		{`{"queue":"` + strings.Repeat("x", pilots.MaxPull) + `"}`, "body_too_large", "65536", 413},
	} {
		p := b.problem(b.call("POST", "/v1/pulls", c.body), c.status)
		if p.Code != c.code || !strings.Contains(p.Error(), c.says) {
			t.Errorf("%.40q: %s %s", c.body, p.Code, p.Error())
		}
	}
}

func TestRenewAndFinish(t *testing.T) {
	b := newBench(t)
	w := b.call("POST", "/v1/leases/renew", `{"pilot":"p","leases":[{"lease":"L1","state":"running","usage":{"cpu_s":1.5},"new":1}]}`)
	if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"kept":[],"lost":[],"cancel":[],"renew_after_s":60}` {
		t.Errorf("renew: %d %s", w.Code, w.Body)
	}
	if b.dispatcher.renewed.Leases[0].Usage.CPUSeconds != 1.5 {
		t.Errorf("renew: %+v", b.dispatcher.renewed)
	}
	w = b.call("POST", "/v1/leases/finish", `{"pilot":"p","results":[{"lease":"L1","outcome":"finished","exit_code":0}]}`)
	if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"verdicts":[{"lease":"L1","verdict":"recorded","job_state":"finished"}]}` {
		t.Errorf("finish: %d %s", w.Code, w.Body)
	}
	b.dispatcher.ended = dispatcher.FinishRequest{}
	p := b.problem(b.call("POST", "/v1/leases/finish", `{"pilot":"p","results":[{"lease":"L1","outcome":"finished"},{"lease":"","outcome":"lost"}]}`), 422)
	if len(p.Errors) != 2 || p.Errors[0].Location != "body.results[1].lease" || p.Errors[1].Location != "body.results[1].outcome" {
		t.Errorf("finish: %v", p)
	}
	if len(b.dispatcher.ended.Results) != 0 {
		t.Errorf("of a body that was refused %+v is ended", b.dispatcher.ended)
	}
}

func BenchmarkPull(bm *testing.B) {
	b := newBench(&testing.T{})
	bm.ReportAllocs()
	for bm.Loop() {
		if w := b.call("POST", "/v1/pulls", goodPull); w.Code != 200 {
			bm.Fatal(w.Body)
		}
	}
}

// What BenchmarkPull costs without a pull: request, router, edge.
func BenchmarkEmpty(bm *testing.B) {
	b := newBench(&testing.T{})
	bm.ReportAllocs()
	for bm.Loop() {
		b.call("GET", "/healthz", "")
	}
}

// Whatever a pilot sends, the answer is an answer: no panic, no 500.
func FuzzPilotBodies(f *testing.F) {
	for _, seed := range []string{goodPull, `{"pilot":"p","leases":[{"lease":"L"}]}`, `{"pilot":"p","results":[{"lease":"L","outcome":"failed"}]}`, `[]`, `{`, `null`} {
		f.Add(seed)
	}
	b := newBench(&testing.T{})
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/pulls", "/v1/leases/renew", "/v1/leases/finish"} {
			switch w := b.call("POST", path, body); w.Code {
			case 200, 400, 413, 422:
			default:
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

// More cores than the database's counts hold are refused, not cut to the 705032704 that their low bits are.
func TestPullOfTooManyCores(t *testing.T) {
	b := newBench(t)
	p := b.problem(b.call("POST", "/v1/pulls", `{"queue":"CERN","pilot":"p","slot":{"cores":5000000000}}`), 422)
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.slot.cores" || !strings.Contains(p.Errors[0].Message, "to 2147483647") {
		t.Errorf("%+v", p.Errors)
	}
}

// Names are bounded, each and in their number.
func TestPullBoundsNames(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("x", pilots.MaxName+1)
	labels, devices := map[string]string{}, make([]string, pilots.MaxDevices+1)
	for i := range pilots.MaxLabels + 1 {
		labels[strconv.Itoa(i)] = ""
	}
	for at, body := range map[string]map[string]any{
		"body.queue":          {"queue": long},
		"body.pilot":          {"pilot": long},
		"body.node":           {"node": long},
		"body.devices":        {"devices": devices},
		"body.devices[1]":     {"devices": []string{"gpu:0", long}},
		"body.slot.labels":    {"slot": map[string]any{"labels": labels}},
		"body.slot.labels ":   {"slot": map[string]any{"labels": map[string]string{long: ""}}},
		"body.slot.labels  ":  {"slot": map[string]any{"labels": map[string]string{"os": long}}},
		"body.only.labels[0]": {"only": map[string]any{"labels": []string{long}}},
		"body.only.user":      {"only": map[string]any{"user": long}},
		"body.only.user ":     {"only": map[string]any{"user": "a\x00"}},
		"body.node ":          {"node": "a\x00"},
	} {
		req := map[string]any{"queue": "CERN", "pilot": "p"}
		maps.Copy(req, body)
		text, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		p := b.problem(b.call("POST", "/v1/pulls", string(text)), 422)
		if len(p.Errors) != 1 || p.Errors[0].Location != strings.TrimSpace(at) || !strings.Contains(p.Errors[0].Message, "expected ") {
			t.Errorf("%s: %v", at, p)
		}
	}
	most := strings.Repeat("ü", pilots.MaxName)
	if w := b.call("POST", "/v1/pulls", `{"queue":"CERN","pilot":"`+most+`","node":"`+most+`"}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The number of an attempt is one that the database knows.
func TestJobLogOfNoAttempt(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{"2147483648", "9223372036854775807"} {
		p := b.problem(b.call("GET", "/v1/jobs/1/log?attempt="+n, ""), 422)
		if len(p.Errors) != 1 || p.Errors[0].Location != "query.attempt" {
			t.Errorf("%s: %v", n, p)
		}
	}
	if w := b.call("GET", "/v1/jobs/1/log?attempt=2147483647", ""); w.Code == 422 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
