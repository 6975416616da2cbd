package main

import (
	"encoding/csv"
	"encoding/xml"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A short day: what it prints, and that it counted.
func TestBenchDay(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a daemon and a thousand slots")
	t.Setenv(runAsBench, "1")
	dir := filepath.Join(t.TempDir(), "plots")
	o := benched(t, "day", "--short", "--plot", dir)
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	lines := strings.Split(o.out, "\n")
	for i, want := range []string{`^day off_at_rest_jobs \d+(\.\d+)? target 1\.0 ok$`, `^day ends_ratio \d+(\.\d+)? target 0\.90 (ok|below)$`,
		`^day memory_mb \d+(\.\d+)? target 400 ok$`, `^day memory_drift \d+\.\d+ target 1\.1 (ok|below)$`, `^day tables_drift \d+\.\d+ target 1\.1 (ok|below)$`,
		`^day indexes_drift \d+\.\d+ target 1\.1 (ok|below)$`, `^day pull_p99_drift \d+\.\d+ target 1\.5 (ok|below)$`, `^$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d: %q, want %s", i+1, lines[i], want)
		}
	}
	for _, want := range []string{"none to two slots", "the database says the same", "exactly once", "none claimed twice, none lost", "1:8640"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
	plotted(t, dir)
	if o := benched(t, "history", "--days", "1"); o.code != fail.Failed || !strings.Contains(o.err, "this history makes no sense") {
		t.Errorf("%+v", o)
	}
	if o := benched(t, "day", "--slots", "1"); o.code != fail.Failed || !strings.Contains(o.err, "this day makes no sense") {
		t.Errorf("%+v", o)
	}
}

// plotted holds the samples of a day against the picture of them.
func plotted(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "day.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) < 20 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	last := lines[len(lines)-1]
	for i, name := range lines[0] { // all of these are more than nothing in the end, but for what may be cleared away
		if v, err := strconv.ParseFloat(last[i], 64); err != nil || v <= 0 && name != "dead_ranges" && name != "dead_leases" && name != "vacuums" {
			t.Errorf("%s is %q in the end, %v", name, last[i], err)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "day.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{ XMLName xml.Name })); err != nil {
		t.Error(err)
	}
	for _, d := range dayDiagrams {
		if !strings.Contains(string(svg), html.EscapeString(d.what)) {
			t.Errorf("no diagram of %s", d.what)
		}
	}
	if n := strings.Count(string(svg), `<path class="line r0" d="M`); n < len(dayDiagrams) || strings.Contains(string(svg), "NaN") {
		t.Errorf("%d first lines of %d diagrams:\n%s", n, len(dayDiagrams), svg)
	}
}

// A short history: nothing of it is left in the end, and the present is counted.
func TestBenchHistory(t *testing.T) {
	pgtest.Long(t, "starts a cluster, a daemon and load processes")
	t.Setenv(runAsBench, "1")
	o := benched(t, "history", "--ended", "20000", "--days", "4", "--ready", "100000", "--pullers", "32", "--rounds", "1", "--round", "2s")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	for _, want := range []string{`history lives_ratio \d`, `history drop_p99_ratio \d`, `history live_ratio \d\.\d+ target 1\.5 `,
		`history = 20000 ended jobs of 4 days, with an attempt each`, `after history was dropped: \d+ jobs made, .* none lost`} {
		if !regexp.MustCompile(want).MatchString(o.out) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
}

func TestWriteSamples(t *testing.T) {
	var b strings.Builder
	if err := writeSamples(&b, []figure.Sample{{Hour: 0.5, Pulls: 3, P99: 12.25, Weight: figure.Weight{WALMB: 7}}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 3 || lines[1] != "0.500,0.000,0.000,0.000,3.000,0.000,12.250,0.000,0.000,0.000,0.000,0.000,0.000,0.000,7.000" ||
		strings.Count(lines[0], ",") != strings.Count(lines[1], ",") {
		t.Errorf("%s", b.String())
	}
}
