package main

import (
	"regexp"
	"strings"
	"testing"
)

// A tiny run of S6 and S7: claims under a snapshot and beside renewals, with all their checks.
func TestBenchLong(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts a cluster, a daemon and load processes")
	}
	t.Setenv(runAsDivvy, "1")
	o := divvy(t, "bench", "--only", "S6,S7", "--rounds", "1", "--round", "1s", "--ready", "20000", "--held", "500", "--pullers", "16",
		"--snapshot", "5000", "--renewed", "8000")
	if o.code != exitOK {
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
		"dead rows of jobs at the end: ", "snapshot (S6) = 5000 claims under it, in slices of 5008", "renewals (S7) = 8000 leases held, 17000 renewed a second"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
}
