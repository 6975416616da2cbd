package main

import (
	"regexp"
	"strings"
	"testing"
)

// A short day: what it prints, and that it counted.
func TestBenchDay(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts a cluster, a daemon and a thousand slots")
	}
	t.Setenv(runAsDivvy, "1")
	o := divvy(t, "bench", "day", "--short")
	if o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	lines := strings.Split(o.out, "\n")
	for i, want := range []string{`^day off_at_rest_jobs \d+(\.\d+)? target 1\.0 ok$`, `^day ends_ratio \d+(\.\d+)? target 0\.90 (ok|below)$`,
		`^day memory_mb \d+(\.\d+)? target 400 ok$`, `^$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d: %q, want %s", i+1, lines[i], want)
		}
	}
	for _, want := range []string{"none to two slots", "the database says the same", "exactly once", "none claimed twice, none lost", "1:8640"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
	if o := divvy(t, "bench", "history", "--days", "1"); o.code != exitFailed || !strings.Contains(o.err, "this history makes no sense") {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "bench", "day", "--slots", "1"); o.code != exitFailed || !strings.Contains(o.err, "this day makes no sense") {
		t.Errorf("%+v", o)
	}
}

// A short history: nothing of it is left in the end, and the present is counted.
func TestBenchHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts a cluster, a daemon and load processes")
	}
	t.Setenv(runAsDivvy, "1")
	o := divvy(t, "bench", "history", "--ended", "20000", "--days", "4", "--attempts", "2", "--ready", "100000", "--pullers", "32", "--rounds", "1", "--round", "2s")
	if o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	for _, want := range []string{`history lives_ratio \d`, `history drop_p99_ratio \d`, `history live_ratio \d\.\d+ target 1\.5 `,
		`history = 20000 ended jobs of 4 days, with the attempts of 2 days`, `after history was dropped: \d+ jobs made, .* none lost`} {
		if !regexp.MustCompile(want).MatchString(o.out) {
			t.Errorf("it does not say %q:\n%s", want, o.out)
		}
	}
}
