package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/dispatcher"
)

// lifeServer answers as a daemon does; spoil may change an answer by its path.
type lifeServer struct {
	job      atomic.Int64
	finished atomic.Int64
	spoil    func(path, answer string) string
}

func (s *lifeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case "/v1/pulls":
		var req dispatcher.PullRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Max != Slots || req.Slot.Cores != Slots {
			http.Error(w, fmt.Sprintf("%+v %v", req, err), 400)
			return
		}
		reply := dispatcher.PullReply{RenewAfter: 60}
		for range req.Max - 1 { // not always as many as were asked for
			n := s.job.Add(1)
			reply.Leases = append(reply.Leases, dispatcher.Lease{Lease: fmt.Sprint("L", n), Job: n, Attempt: 1})
		}
		answer = reply
	case PathRenew:
		var req dispatcher.RenewRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Pilot != "life-0" && req.Pilot != "life-1" {
			http.Error(w, fmt.Sprintf("%+v %v", req, err), 400)
			return
		}
		reply := dispatcher.RenewReply{Kept: []string{}, Lost: []string{}, Cancel: []dispatcher.CancelOrder{}, RenewAfter: 60}
		for _, l := range req.Leases {
			if l.State == dispatcher.Running {
				reply.Kept = append(reply.Kept, l.Lease)
			}
		}
		answer = reply
	case PathFinish:
		var req dispatcher.FinishRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		reply := dispatcher.FinishReply{}
		for _, result := range req.Results {
			reply.Verdicts = append(reply.Verdicts, dispatcher.Verdict{Lease: result.Lease, Verdict: dispatcher.Recorded, JobState: string(result.Outcome)})
		}
		s.finished.Add(int64(len(req.Results)))
		answer = reply
	}
	text, _ := json.Marshal(answer)
	if s.spoil != nil {
		text = []byte(s.spoil(r.URL.Path, string(text)))
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = w.Write(text)
}

// runLife runs the load process against a server, in this process.
func runLife(t *testing.T, s *lifeServer, most int) (Outcome, []string) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	o := Order{Mode: Life, Address: strings.TrimPrefix(server.URL, "http://"), WarmUp: 20 * time.Millisecond, Duration: time.Minute, Most: most}
	for i := range 2 {
		o.Pilots = append(o.Pilots, fmt.Sprint("life-", i))
		o.Bodies = append(o.Bodies, fmt.Sprintf(`{"queue":"q","pilot":%q,"slot":{"cores":%d},"max":%[2]d}`, o.Pilots[i], Slots))
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Run(context.Background(), bytes.NewReader(append(text, '\n')), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var r Outcome
	if e := json.Unmarshal([]byte(strings.TrimPrefix(lines[len(lines)-1], "r ")), &r); e != nil {
		t.Fatal(e)
	}
	return r, lines[:len(lines)-1]
}

// Every pilot pulls, renews all and finishes all, again and again; what it pulled is finished in the end.
func TestLifeLoad(t *testing.T) {
	s := &lifeServer{}
	const most = 20_000
	r, lines := runLife(t, s, most)
	if r.Error != "" {
		t.Fatal(r.Error)
	}
	seen := recount.Once{}
	for _, line := range lines {
		var job int64
		if _, err := fmt.Sscanf(line, "c %d -", &job); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if err := seen.Add(job); err != nil {
			t.Fatal(err)
		}
	}
	if all := int(s.finished.Load()); all != int(s.job.Load()) || all != r.All || all != len(lines) || all < most || all > most+2*Slots {
		t.Errorf("%d finished, %d pulled, %d named, %+v", all, s.job.Load(), len(lines), r)
	}
	if r.Answers <= 0 || r.Answers > r.All || r.Elapsed <= 0 || r.Elapsed > time.Minute || r.P99 < r.P50 {
		t.Errorf("%+v", r)
	}
}

// An answer that is not what a pilot may build upon ends the load.
func TestLifeLoadChecksAnswers(t *testing.T) {
	for name, c := range map[string]struct{ path, old, new string }{
		"no lease":         {"/v1/pulls", `"lease"`, `"leash"`},
		"not 200":          {"/v1/pulls", "", ""},
		"a lost lease":     {PathRenew, `"lost":[]`, `"lost":["L1"]`},
		"a cancel order":   {PathRenew, `"cancel":[]`, `"cancel":[{"lease":"L1","reason":"killed","grace_s":1}]`},
		"none kept":        {PathRenew, `{"kept":[`, `{"kept":["L0",`},
		"not recorded":     {PathFinish, `"recorded"`, `"lease_lost"`},
		"tried again":      {PathFinish, `"job_state":"finished"`, `"job_state":"ready"`},
		"fewer verdicts":   {PathFinish, `{"verdicts":[`, `{"verdicts":[],"rest":[`},
		"another's leases": {PathFinish, `"lease":"L`, `"lease":"M`},
	} {
		s := &lifeServer{spoil: func(path, answer string) string {
			if path == c.path && c.old == "" {
				return "{}"
			} else if path == c.path {
				return strings.ReplaceAll(answer, c.old, c.new)
			}
			return answer
		}}
		if r, _ := runLife(t, s, 1000); r.Error == "" || r.Answers > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Only what was finished between the warm-up and the end counts, and the end comes early when there is enough.
func TestLivesCount(t *testing.T) {
	from := time.Now()
	l := &lives{from: from, until: from.Add(time.Hour), most: 40}
	for _, c := range []struct {
		at     time.Duration
		counts bool
	}{{-time.Second, false}, {time.Second, true}, {2 * time.Hour, false}, {3 * time.Second, true}, {4 * time.Second, false}} {
		if got := l.finished(10, from.Add(c.at)); got != c.counts {
			t.Errorf("at %s: %v", c.at, got)
		}
	}
	if !l.over() || !l.end().Equal(time.Unix(0, from.Add(3*time.Second).UnixNano())) || l.n.Load() != 50 {
		t.Errorf("over %v, end %s, %d", l.over(), l.end(), l.n.Load())
	}
}

// A pull that is put off comes again; one that is refused for another reason ends the load.
func TestLoadComesAgain(t *testing.T) {
	answer := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	run := func(first string) *puller {
		answers := answer("503 Service Unavailable", first) + answer("200 OK", `{"leases":[{"lease":"AbC-_9","job":1234,"attempt":1}],"renew_after_s":60}`)
		w := &puller{conn: &conn{net: discard{}, in: bufio.NewReader(strings.NewReader(answers))}}
		w.run(stop{at: time.Now().Add(time.Hour), over: new(atomic.Bool)}, 1, pace{})
		return w
	}
	if w := run(`{"status":503,"code":"overloaded"}`); w.err != nil || len(w.jobs) != 1 || w.n != 1 {
		t.Errorf("put off: %d jobs, %d answers, %v", len(w.jobs), w.n, w.err)
	}
	if w := run(`{"status":503,"code":"database_unavailable"}`); w.err == nil || len(w.jobs) != 0 {
		t.Errorf("refused: %d jobs, %v", len(w.jobs), w.err)
	}
}

func TestInputNames(t *testing.T) {
	text, err := io.ReadAll(&inputNames{n: 2500})
	if err != nil || strings.Count(string(text), "\n") != 2500 || !strings.HasPrefix(string(text), `"mc23`) {
		t.Errorf("%v, %d lines", err, strings.Count(string(text), "\n"))
	}
}
