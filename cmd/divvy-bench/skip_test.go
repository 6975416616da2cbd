package main

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// Outside of the source tree S3 cannot be measured. The run says so wherever somebody may look, and is no pass.
func TestBenchSkipsAloud(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts a cluster and a daemon")
	}
	t.Setenv(runAsBench, "1")
	t.Chdir(t.TempDir())
	o := benched(t, "--only", "S3", "--strict", "--rounds", "1", "--round", "100ms", "--ready", "2000", "--held", "100", "--pullers", "16")
	if o.code != fail.Failed {
		t.Errorf("exit code %d", o.code)
	}
	for _, text := range []string{o.out, o.err} {
		if !strings.Contains(text, "S3 skipped: ") || !strings.Contains(text, "source tree") {
			t.Errorf("%s", text)
		}
	}
	if !strings.Contains(o.err, "S3 was not measured") {
		t.Errorf("%s", o.err)
	}
}
