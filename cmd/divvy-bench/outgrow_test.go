package main

import (
	"regexp"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A small run: every step has its cost, reports were read on both sides, and all ends are there.
func TestBenchOutgrow(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a replica of it and a daemon")
	t.Setenv(runAsBench, "1")
	o := benched(t, "outgrow", "--jobs", "5000", "--rounds", "1", "--round", "500ms", "--nodes", "4")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	for _, want := range []string{`(?m)^outgrow server_ratio \d`, `(?m)^outgrow replica_ratio \d`, `made ready: 5000 jobs in .* [1-9]\d* B of WAL, .*; jobs \d+ \+ \d+ B`,
		`(?m)^  leased: 4\d\d\d jobs .* us of the daemon.*; held [1-9]`, `(?m)^  renewed: 4\d\d\d jobs`, `(?m)^  ended: 4\d\d\d jobs .*history [1-9]`,
		`reports on the replica: [1-9]`, `MB resident with 5000 ready jobs`, `ends were recorded and are there, each once; no lease is left`} {
		if !regexp.MustCompile(want).MatchString(o.out) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
	if o := benched(t, "outgrow", "--jobs", "1"); o.code != fail.Failed {
		t.Errorf("%+v", o)
	}
}
