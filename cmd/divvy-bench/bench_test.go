package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/suite"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A tiny run of S1 and S2 on a private durable cluster, load process and all: what it prints, and that it checked.
func TestBench(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a daemon, pgbench and a load process")
	t.Setenv(runAsBench, "1") // the load process is this test binary
	o := benched(t, "--only", "S1,S2", "--rounds", "1", "--round", "200ms", "--ready", "5000", "--held", "500", "--pullers", "16")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	lines := strings.Split(o.out, "\n")
	for i, want := range []string{`^S1 ratio \d+(\.\d+)? target 6\.0 (ok|below), \d+(\.\d+)? us of CPU a claim$`, `^S2 ratio \d+(\.\d+)? target 0\.50 (ok|below), \d+(\.\d+)? us of CPU a claim$`, `^$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d: %q, want %s", i+1, lines[i], want)
		}
	}
	for _, want := range []string{"pgbench, one claim a transaction: ", "empty handler: ", "fsync = on", "synchronous_commit = on", "load average at the start = ",
		"after claims in process: ", "after claims over HTTP: ", "none claimed twice, none lost", "pgbench -n -M prepared -c 32"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
}

// Waking and submission, as JSON; far below a target that is out of reach, --strict says so.
func TestBenchJSON(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a daemon and load processes")
	t.Setenv(runAsBench, "1")
	o := benched(t, "--only", "S4,S8,S10", "--quick", "--rounds", "1", "--round", "300ms", "--ready", "5000", "--held", "500", "--pullers", "8",
		"--inputs", "3000", "--wakes", "20", "--json", "--strict", "--floor", "1000", "--request-ids")
	if o.code != fail.Failed || !strings.Contains(o.err, "of its target, less than 100000 %") {
		t.Fatalf("%+v", o)
	}
	var r figure.Report
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Figures {
		got = append(got, f.ID+" "+f.Quantity)
		if f.Value <= 0 || len(f.Series) == 0 || f.Verdict == "" {
			t.Errorf("%+v", f)
		}
	}
	if want := "S8 generated_per_s, S10 ratio, S8 submit_3k_s, S8 beside_claims_per_s, S8 beside_claims_ratio, S8 beside_claims_memory_ratio, S4 claim_p99_ms, S4 wake_p99_ms"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	all := "after loading, claims in process, submissions, generation beside claims, claims over HTTP, half of the top rate, waking: "
	if len(r.Checks) != 1 || !strings.HasPrefix(r.Checks[0], all) || len(r.Settings) == 0 || len(r.Commands) == 0 || !strings.Contains(o.out, `"request_ids": true`) {
		t.Errorf("%+v", r)
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--only S13", fail.Failed, "no measurement"},
		{"--floor 0.7", fail.Usage, "without --strict"},
		{"--rounds 0", fail.Failed, "sizes make no sense"},
		{"--database " + strings.ReplaceAll(pgtest.DSN(t), " ", "\x00"), fail.Failed, "fsync = off"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "\x00", " ")
		}
		if o := benched(t, args...); o.code != c.code || !strings.Contains(o.err, c.says) || o.out != "" {
			t.Errorf("%s: %+v", c.args, o)
		}
	}
	pool := pgtest.Open(t)
	var left int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'divvy\\_bench\\_%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d databases are left, %v", left, err)
	}
	o := benched(t, "--list")
	for _, m := range suite.Measurements() {
		if o.code != fail.OK || !strings.Contains(o.out, m.Title) {
			t.Errorf("%s: %+v", m.ID, o)
		}
	}
}
