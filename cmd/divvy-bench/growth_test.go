package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A tiny run of S5 and S9: more databases, daemons in processes of their own, a site that they fill.
func TestBenchGrowth(t *testing.T) {
	pgtest.Long(t, "starts a cluster, daemons and load processes")
	t.Setenv(runAsBench, "1") // daemons and load are this test binary
	o := benched(t, "--only", "S5,S9", "--rounds", "1", "--round", "200ms", "--ready", "3000", "--held", "200", "--pullers", "16", "--json")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	var r figure.Report
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Figures {
		got = append(got, f.ID+" "+f.Quantity)
		if f.Quantity != "off_at_rest_jobs" && f.Value <= 0 || len(f.Series) == 0 || f.Verdict == "" {
			t.Errorf("%+v", f)
		}
	}
	want := "S5 ready_ratio, S5 held_ratio, S5 wide_ratio, S5 daemons_ratio, S5 off_at_rest_jobs, S9 start_s, S9 memory_mb, S9 cpu_us_a_claim, S9 first_seconds_ratio"
	if strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if all := strings.Join(r.Checks, "\n"); !strings.Contains(all, "4 daemons filled the site") || !strings.Contains(all, "no share over its limit") {
		t.Errorf("checks: %s", all)
	}
}
