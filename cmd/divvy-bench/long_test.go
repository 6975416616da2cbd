package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A tiny run of S6 and S7: claims under a snapshot and beside renewals, with all their checks.
func TestBenchLong(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a daemon and load processes")
	t.Setenv(runAsBench, "1")
	o := benched(t, "--only", "S6,S7", "--rounds", "1", "--round", "1s", "--ready", "20000", "--held", "500", "--pullers", "16",
		"--snapshot", "5000", "--renewed", "8000")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	lines := strings.Split(o.out, "\n")
	for i, want := range []string{`^S7 ratio \d+(\.\d+)? target 0\.50 (ok|below)$`, `^S7 renewed_per_s \d+(\.\d+)? target 16666 (ok|below)$`,
		`^S7 renewed_latest_s \d+(\.\d+)? target 30\.0 (ok|below)$`,
		`^S6 ratio \d+(\.\d+)? target 0\.70 (ok|below)$`, `^S6 p99_ratio \d+(\.\d+)? target 3\.0 (ok|below)$`, `^$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d: %q, want %s", i+1, lines[i], want)
		}
	}
	for _, want := range []string{"sent, all kept; 8000 leases are noted as running", "after claims beside renewals: ", "after claims under a snapshot: ",
		"dead rows of held at the end: ", "snapshot (S6) = 5000 claims under it, in slices of 5008", "renewals (S7) = 8000 leases held, 8000 of them renewed, 17000 a second"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
}

// A brief run of the same: the claims over HTTP are those of S2, S6 and S7, and one recount is of all.
func TestBenchBrief(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a daemon and load processes")
	t.Setenv(runAsBench, "1")
	o := benched(t, "--quick", "--only", "S2,S6,S7", "--rounds", "2", "--round", "300ms", "--ready", "20000", "--held", "1000", "--pullers", "16",
		"--snapshot", "5000", "--renewed", "1000", "--json")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	var r figure.Report
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatal(err)
	}
	rounds := map[string][]float64{}
	var got []string
	for _, f := range r.Figures {
		got = append(got, f.ID+" "+f.Quantity)
		for _, s := range f.Series {
			rounds[s.Name] = s.Rounds
		}
	}
	if want := "S2 ratio, S7 ratio, S7 renewed_per_s, S7 renewed_p99_ms, S7 renewed_latest_s, S6 ratio, S6 p99_ratio"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	for _, name := range []string{"claims without renewals", "claims before the snapshot"} {
		if same := rounds["claims over HTTP"]; len(same) != 2 || !slices.Equal(rounds[name], same) {
			t.Errorf("%s: %v, claims over HTTP %v", name, rounds[name], same)
		}
	}
	all := "after loading, claims over HTTP, claims beside renewals, claims under a snapshot: "
	if last := len(r.Checks) - 1; last != 1 || !strings.HasPrefix(r.Checks[0], "renewals: ") || !strings.HasPrefix(r.Checks[last], all) {
		t.Errorf("checks: %s", strings.Join(r.Checks, "\n"))
	}
}
