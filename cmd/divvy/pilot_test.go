package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A pilot's end is a time or what is left until it, also as squeue prints it.
func TestPilotUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	for text, left := range map[string]time.Duration{
		"90m": 90 * time.Minute, "5400s": 90 * time.Minute, "29:58": 30*time.Minute - 2*time.Second, "1:30:00": 90 * time.Minute, "1-02:00:00": 26 * time.Hour,
		"2026-01-05T09:00": time.Hour, "2026-01-05T09:00:00": time.Hour, "2026-01-05T09:00:00+01:00": -1, "2026-01-05T10:00:00+01:00": time.Hour, "2026-01-05 09:00": time.Hour,
		"": 0, "UNLIMITED": 0, "unlimited": 0, "NOT_SET": 0,
		"30": -1, "soon": -1, "-5m": -1, "0:00": -1, "0s": -1, "2026-01-05T07:00": -1, "INVALID": -1,
	} {
		got, err := ends(text, now)
		switch {
		case left < 0:
			if err == nil || !strings.Contains(err.Error(), "--until") {
				t.Errorf("%q: %v, %v; want an error that names --until", text, got, err)
			}
		case err != nil, left == 0 && !got.IsZero(), left > 0 && got.Sub(now) != left:
			t.Errorf("%q: %v, %v; want %s from %v", text, got, err, left, now)
		}
	}
}

// A pilot in a batch job has its name.
func TestBatchJob(t *testing.T) {
	t.Parallel()
	ad := filepath.Join(t.TempDir(), ".job.ad") // as HTCondor 23 writes it
	if err := os.WriteFile(ad, []byte("ClusterId = 12\nGlobalJobId = \"nobody@vm#12.3#1795997929\"\nProcId = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, value, want string
	}{{"_CONDOR_JOB_AD", ad, "htcondor-12.3"}, {"SLURM_JOB_ID", "17", "slurm-17"}, {"JOB_ID", "4", "gridengine-4"}, {"PBS_JOBID", "9.host", "pbs-9.host"}, {"LSB_JOBID", "", ""}, {"JOB_ID", "a/b", ""}} {
		env := func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		}
		if got := batchJob(env); got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}
