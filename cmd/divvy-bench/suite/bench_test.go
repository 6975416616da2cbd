package suite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/site"

	"github.com/divvyhq/divvy/cmd/divvy-bench/wire"
)

const pgbenchSays = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: /tmp/claim.sql
scaling factor: 1
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 1
duration: 5 s
number of transactions actually processed: 52013
number of failed transactions: 0 (0.000%)
latency average = 0.768 ms
initial connection time = 12.111 ms
tps = 10412.345678 (without initial connection time)
`

func TestParsePgbench(t *testing.T) {
	r, err := parsePgbench(pgbenchSays)
	if err != nil || r.transactions != 52013 || r.tps != 10412.345678 {
		t.Fatalf("%+v %v", r, err)
	}
	for name, out := range map[string]string{
		"nothing":      "",
		"failures":     strings.Replace(pgbenchSays, "failed transactions: 0", "failed transactions: 3", 1),
		"no rate":      strings.Replace(pgbenchSays, "tps = ", "tips = ", 1),
		"old rate":     strings.Replace(pgbenchSays, "without initial", "including", 1),
		"not a number": strings.Replace(pgbenchSays, "10412.345678", "1.2.3", 1),
	} {
		if _, err := parsePgbench(out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// A round of no transactions ends with their number, and without a rate.
	none, _, _ := strings.Cut(strings.Replace(pgbenchSays, "52013", "0", 1), "latency")
	_, err = parsePgbench(none)
	if why := (*unmeasured)(nil); !errors.As(err, &why) {
		t.Errorf("no work: %v", err)
	}
	for found, want := range map[int64]float64{52013: r.tps, 51999: r.tps * 51999 / 52013, 51000: 0, 52014: 0, 0: 0} {
		got, err := r.claims(found)
		if (err != nil) != (want == 0) || math.Abs(got-want) > 1e-6 {
			t.Errorf("%d found: %v %v, want %v", found, got, err, want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		figure   Figure
		line     string
		attained float64
	}{
		{atLeast("S1", "ratio", 6.4, 6), "S1 ratio 6.4 target 6.0 ok", 6.4 / 6},
		{atLeast("S1", "ratio", 6, 6), "S1 ratio 6.0 target 6.0 ok", 1},
		{atLeast("S1", "ratio", 3, 6), "S1 ratio 3.0 target 6.0 below", 0.5},
		{atLeast("S1", "ratio", 0, 6), "S1 ratio 0.00 target 6.0 below", 0},
		{atLeast("S2", "ratio", 0.58, 0.5), "S2 ratio 0.58 target 0.50 ok", 1.16},
		{atLeast("S10", "ratio", 612.4, 500), "S10 ratio 612 target 500 ok", 612.4 / 500},
		{atMost("S4", "claim_p99_ms", 8, 10), "S4 claim_p99_ms 8.0 target 10.0 ok", 1.25},
		{atMost("S4", "claim_p99_ms", 20, 10), "S4 claim_p99_ms 20.0 target 10.0 below", 0.5},
		{atMost("S4", "claim_p99_ms", 0, 10), "S4 claim_p99_ms 0.00 target 10.0 below", 0}, // nothing was measured
		{atLeast("S8", "generated_per_s", 163012, 150000), "S8 generated_per_s 163012 target 150000 ok", 163012.0 / 150000},
	} {
		if got := c.figure.Line(); got != c.line {
			t.Errorf("%q, want %q", got, c.line)
		}
		if got := c.figure.Attained(); math.Abs(got-c.attained) > 1e-9 {
			t.Errorf("%s: attained %v, want %v", c.line, got, c.attained)
		}
	}
	r := Report{Figures: []Figure{atLeast("S1", "ratio", 7, 6), atMost("S4", "p99", 20, 10), atLeast("S2", "ratio", 0.4, 0.5)}}
	if worst, ok := r.Worst(); !ok || worst.ID != "S4" {
		t.Errorf("worst %+v", worst)
	}
	r.Figures = []Figure{atLeast("S5", "daemons_ratio", reached["S5 daemons_ratio"], 0.95), atLeast("S10", "ratio", 400, 500)}
	if known := r.Known(); known.Figures[0].Verdict != OK || known.Figures[1].Verdict != Below || r.Figures[0].Verdict != Below {
		t.Errorf("with what was reached as its target: %+v; before: %+v", known.Figures, r.Figures)
	}
}

func TestMedianAndQuantile(t *testing.T) {
	rounds := []float64{9, 1, 5}
	if m := median(rounds); m != 5 || rounds[0] != 9 {
		t.Errorf("median %v of %v", m, rounds)
	}
	if m := median([]float64{4, 2}); m != 2 {
		t.Errorf("median of two: %v", m)
	}
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(200-i)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0.5: 100, 0.99: 198, 1: 200, 0: 1} {
		if got := quantile(times, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if quantile(nil, 0.99) != 0 {
		t.Error("quantile of nothing")
	}
}

func TestChoose(t *testing.T) {
	all, err := choose(nil)
	if err != nil || !all["S1"] || !all["S10"] {
		t.Errorf("%v %v", all, err)
	}
	for _, m := range Measurements() {
		if !all[m.ID] {
			t.Errorf("%s is not chosen", m.ID)
		}
		if _, err := choose([]string{m.ID}); err != nil {
			t.Errorf("%s alone: %v", m.ID, err)
		}
	}
	some, err := choose([]string{"s1", " S4"})
	if err != nil || len(some) != 2 || !some.any("S2", "S4") || some.any("S2", "S8") {
		t.Errorf("%v %v", some, err)
	}
	if _, err := choose([]string{"S13"}); err == nil {
		t.Error("S13 exists")
	}
}

func TestSiteAndWork(t *testing.T) {
	s, err := site.Parse("bench", []byte(siteFile()))
	if err != nil {
		t.Fatal(err)
	}
	all := leaves(s.Tree)
	if len(all) != 100 || len(s.Queues) != queues+1 || len(shapes) != nShapes {
		t.Fatalf("%d leaves, %d queues", len(all), len(s.Queues))
	}
	for _, n := range []int{0, 1, 37, 1_000_000} {
		sum := 0
		for _, c := range divide(n, all) {
			if c < 0 {
				t.Errorf("divide %d: %d jobs", n, c)
			}
			sum += c
		}
		if sum != n {
			t.Errorf("divide %d: %d", n, sum)
		}
	}
	for shape := range nShapes {
		spec := work(all[0].path, shapes[shape], 5)
		if err := spec.Check(); err != nil || spec.Requirements.MemoryMB <= baseMB/2 {
			t.Errorf("shape %d: %v, or it fits the idle queue", shape, err)
		}
	}
}

func TestInputNames(t *testing.T) {
	text, err := io.ReadAll(&wire.InputNames{N: 2500})
	if err != nil || strings.Count(string(text), "\n") != 2500 || !strings.HasPrefix(string(text), `"mc23`) {
		t.Errorf("%v, %d lines", err, strings.Count(string(text), "\n"))
	}
	for n, want := range map[int]string{1_000_000: "1M", 20_000: "20k", 77: "77"} {
		if got := count(n); got != want {
			t.Errorf("count %d: %s", n, got)
		}
	}
}

func TestWithDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:p@h:5433/site?sslmode=disable": "postgres://u:p@h:5433/mine?sslmode=disable",
		"postgres://h":                   "postgres://h/mine",
		"host=/run/pg user=u dbname=old": "host=/run/pg user=u dbname=old dbname=mine",
	} {
		if got, err := withDatabase(dsn, "mine"); err != nil || got != want {
			t.Errorf("%s: %s %v", dsn, got, err)
		}
	}
	if _, err := withDatabase("postgres://u:secret@[::/x", "mine"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestBitmapAndTally(t *testing.T) {
	var b bitmap
	for _, job := range []int64{0, 63, 64, 1_000_000, 65} {
		if err := b.add(job); err != nil {
			t.Error(err)
		}
	}
	if b.add(64) == nil || b.add(-1) == nil {
		t.Error("a job was claimed twice, or has no id")
	}
	good := tally{Made: 10, Rows: 11, Coming: 1, Live: 7, Held: 3, Ended: 3}
	if wrong := good.problems(3, 1); len(wrong) != 0 {
		t.Error(wrong)
	}
	for i, change := range []func(*tally){func(t *tally) { t.Live-- }, func(t *tally) { t.Held++ }, func(t *tally) { t.Rows++ }, func(t *tally) { t.Coming = 0 },
		func(t *tally) { t.EndedTwice = 1 }, func(t *tally) { t.Both = 1 }, func(t *tally) { t.Orphans = 1 }, func(t *tally) { t.Stray = 1 }} {
		bad := good
		change(&bad)
		if wrong := bad.problems(3, 1); len(wrong) != 1 {
			t.Errorf("%d: %v", i, wrong)
		}
	}
	if text := (&CheckError{[]error{errors.New("a"), fmt.Errorf("b")}}).Error(); !strings.Contains(text, "no figures") {
		t.Error(text)
	}
}

// A pull that is put off comes again; one that is refused for another reason ends the load.
func TestLoadComesAgain(t *testing.T) {
	answer := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	run := func(first string) *worker {
		answers := answer("503 Service Unavailable", first) + answer("200 OK", `{"leases":[{"lease":"AbC-_9","job":1234,"attempt":1}],"renew_after_s":60}`)
		w := &worker{wire: &wire.Conn{Net: discard{}, In: bufio.NewReader(strings.NewReader(answers))}}
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
