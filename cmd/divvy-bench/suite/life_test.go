package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pgtest"
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
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Max != lifeSlots || req.Slot.Cores != lifeSlots {
			http.Error(w, fmt.Sprintf("%+v %v", req, err), 400)
			return
		}
		reply := dispatcher.PullReply{RenewAfter: 60}
		for range req.Max - 1 { // not always as many as were asked for
			n := s.job.Add(1)
			reply.Leases = append(reply.Leases, dispatcher.Lease{Lease: fmt.Sprint("L", n), Job: n, Attempt: 1})
		}
		answer = reply
	case pathRenew:
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
	case pathFinish:
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
func runLife(t *testing.T, s *lifeServer, most int) (outcome, []string) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	st := &stage{Sizes: Sizes{Pullers: 8}}
	o := order{Mode: modeLife, Address: strings.TrimPrefix(server.URL, "http://"), WarmUp: 20 * time.Millisecond, Duration: time.Minute, Most: most}
	for i := range st.lifePilots() {
		o.Bodies, o.Pilots = append(o.Bodies, st.lifeBody(i)), append(o.Pilots, lifeName(i))
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Load(context.Background(), bytes.NewReader(append(text, '\n')), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var r outcome
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
	seen := bitmap{}
	for _, line := range lines {
		var job int64
		if _, err := fmt.Sscanf(line, "c %d -", &job); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if err := seen.add(job); err != nil {
			t.Fatal(err)
		}
	}
	if all := int(s.finished.Load()); all != int(s.job.Load()) || all != r.All || all != len(lines) || all < most || all > most+2*lifeSlots {
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
		"a lost lease":     {pathRenew, `"lost":[]`, `"lost":["L1"]`},
		"a cancel order":   {pathRenew, `"cancel":[]`, `"cancel":[{"lease":"L1","reason":"killed","grace_s":1}]`},
		"none kept":        {pathRenew, `{"kept":[`, `{"kept":["L0",`},
		"not recorded":     {pathFinish, `"recorded"`, `"lease_lost"`},
		"tried again":      {pathFinish, `"job_state":"finished"`, `"job_state":"ready"`},
		"fewer verdicts":   {pathFinish, `{"verdicts":[`, `{"verdicts":[],"rest":[`},
		"another's leases": {pathFinish, `"lease":"L`, `"lease":"M`},
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

func TestSourceTree(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(root, "cmd", "x")
	write("cmd/x/go.mod", "module github.com/divvyhq/divvy/cmd/x\n")
	write("go.mod", "module github.com/divvyhq/divvy-too\n")
	if at, ok := sourceTree(deep); ok {
		t.Errorf("found one in %s", at)
	}
	write("go.mod", "// divvy\nmodule github.com/divvyhq/divvy\n\ngo 1.26.0\n")
	if _, ok := sourceTree(deep); ok {
		t.Error("a tree without River's program")
	}
	write(riverFolder+"/go.mod", "module github.com/divvyhq/divvy/cmd/divvy-bench/river\n")
	for _, from := range []string{deep, root, filepath.Join(root, riverFolder)} {
		if at, ok := sourceTree(from); !ok || at != root {
			t.Errorf("from %s: %q %v", from, at, ok)
		}
	}
}

// Where River cannot be built, S3 is left out with the reason, in the report and on the terminal.
func TestLifeIsSkippedAloud(t *testing.T) {
	var terminal bytes.Buffer
	for name, prepare := range map[string]func(*testing.T){
		"source tree": func(t *testing.T) { t.Chdir(t.TempDir()) },
		"go command":  func(t *testing.T) { t.Setenv("PATH", t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			terminal.Reset()
			s := &stage{Sizes: Quick(), cfg: Config{Progress: &terminal}, served: servesNothing, report: &Report{Began: time.Now()}}
			if err := s.take(context.Background(), step{[]string{"S3"}, s.wholeLife}, selection{"S3": true}); err != nil {
				t.Fatal(err)
			}
			var lines bytes.Buffer
			s.report.Lines(&lines)
			for _, text := range []string{terminal.String(), lines.String()} {
				if !strings.Contains(text, "S3 skipped: ") || !strings.Contains(text, name) {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

var servesNothing = Served{Stop: func(context.Context) error { return nil }}

// A row without a figure is skipped aloud, and those of its step that have one stand; a check that fails ends the run.
func TestTake(t *testing.T) {
	empty := &unmeasured{"a round finished no job"}
	for name, c := range map[string]struct {
		err     error
		skipped string
		ends    bool
	}{
		"measured":       {nil, "", false},
		"an empty round": {fmt.Errorf("S4: %w", empty), "S4", false},
		"a failed check": {errors.Join(&CheckError{[]error{errors.New("twice")}}, empty), "", true},
		"another error":  {errors.New("no server"), "", true},
	} {
		var terminal bytes.Buffer
		s := &stage{cfg: Config{Progress: &terminal}, served: servesNothing, report: &Report{Began: time.Now()}}
		err := s.take(t.Context(), step{[]string{"S2", "S4", "S7"}, func(context.Context, selection) error {
			s.figure(atLeast("S2", "ratio", 1, 1))
			return c.err
		}}, selection{"S2": true, "S4": true})
		var skipped []string
		for _, k := range s.report.Skipped {
			skipped = append(skipped, k.ID)
		}
		if (err != nil) != c.ends || strings.Join(skipped, " ") != c.skipped || len(s.report.Figures) != 1 || strings.Contains(terminal.String(), "skipped") != (c.skipped != "") {
			t.Errorf("%s: %v, skipped %v: %s", name, err, skipped, terminal.String())
		}
	}
}

func TestParseRiver(t *testing.T) {
	r, err := parseRiver([]byte(`{"jobs_per_s":31012.4,"counted":155062,"elapsed_s":5,"version":"v0.51.0","workers":2000,"connections":4}` + "\n"))
	if err != nil || r.JobsPerS != 31012.4 || r.Version != "v0.51.0" {
		t.Errorf("%+v %v", r, err)
	}
	for _, bad := range []string{"", "31012", `{"jobs_per_s":1}`} {
		if _, err := parseRiver([]byte(bad)); err == nil {
			t.Errorf("a rate in %q", bad)
		}
	}
	_, err = parseRiver([]byte(`{"jobs_per_s":0,"counted":0,"elapsed_s":1,"version":"v0.51.0"}`))
	if why := (*unmeasured)(nil); !errors.As(err, &why) || !strings.Contains(why.why, "River finished no job") {
		t.Errorf("a round without a job: %v", err)
	}
}

// River is built, works on a database of its own, and leaves nothing behind.
func TestRiver(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds River and runs it for a second")
	}
	ctx := context.Background()
	pool := pgtest.Open(t)
	s := &stage{Sizes: Quick(), cfg: Config{Progress: io.Discard}, report: &Report{Began: time.Now()},
		place: &place{pool: pool, dsn: pool.Config().ConnString()}}
	s.Round = time.Second
	r, err := s.newRiver(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the tables of the first
		rate, err := r.measure(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if rate < 100 || !strings.HasPrefix(r.version, "v") {
			t.Errorf("%v jobs/s of River %s", rate, r.version)
		}
	}
	r.dsn = "host=" + t.TempDir()
	if _, err := r.measure(ctx); err == nil || !strings.Contains(err.Error(), "River") {
		t.Errorf("without a server: %v", err)
	}
	r.remove(ctx)
	var n int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM pg_database WHERE datname = $1", r.database).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d databases left, %v", n, err)
	}
	if _, err := os.Stat(r.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program is still there: %v", err)
	}
}
