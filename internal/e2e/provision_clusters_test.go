//go:build clusters

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

const provisionSite = `
shares: [{name: A, weight: 1}]
tags: [{match: {}, share: A}]
queues: [{name: SLURM, provision: {max: 8, slots: 8, idle: 5s, walltime: 30m}}]
`

// slurm starts a real Slurm of 64 CPUs, and returns the environment of its clients.
func slurm(t *testing.T, settings ...string) []string {
	t.Helper()
	return cluster(t, "slurm.sh", append([]string{"SLURM_CPUS=64", "SLURM_MB=64000"}, settings...)...)
}

// cluster starts a batch system by its script, and returns the environment of its clients.
func cluster(t *testing.T, name string, settings ...string) []string {
	t.Helper()
	script := filepath.Join(clusterTools(t), name)
	dir, err := os.MkdirTemp("", "divvy-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(script, "stop", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		_ = os.RemoveAll(dir)
	})
	cmd := exec.Command(script, "start", dir)
	cmd.Env, cmd.Stderr = append(os.Environ(), settings...), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var extra []string
	for line := range strings.Lines(string(out)) {
		if kv, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			extra = append(extra, kv)
		}
	}
	return environment(extra...)
}

// On a real Slurm pilots come for the jobs and leave after them; a provisioner that is killed twice starts none twice. DIVVY_LONG has
// two thousand jobs instead of two hundred.
func TestClustersProvision(t *testing.T) {
	env, dir, jobs := slurm(t), t.TempDir(), 200
	if os.Getenv("DIVVY_LONG") != "" {
		jobs = 2000
	}
	site, work, state := filepath.Join(dir, "site.yml"), filepath.Join(dir, "work.yml"), filepath.Join(dir, "state")
	for file, text := range map[string]string{site: provisionSite, work: fmt.Sprintf("name: work\nuser: alice\ncommand: [sleep, '2']\ncount: %d\n", jobs)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := start(t, env, "serve", "--database", pgtest.DSN(t), "--listen", "127.0.0.1:0", "--site", site)
	url := d.says(t, `msg=serving url=(\S+)`)
	provision := func() *program {
		return start(t, env, "provision", "--server", url, "--queue", "SLURM", "--site", "slurm", "--state", state)
	}
	divvy := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(binary(t), append(args, "--server", url)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("divvy %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	// names are what a command of Slurm prints: names of pilots.
	names := func(command ...string) []string {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	p := provision()
	divvy("task", "submit", "-f", work)
	eventually(t, time.Minute, "the first pilot", func() bool { return len(names("squeue", "--noheader", "--format=%j")) > 0 })
	_ = p.end(t, syscall.SIGKILL) // amid its start command, which goes on
	p = provision()
	eventually(t, time.Minute, "pilots that are alive", func() bool {
		return strings.Contains(divvy("provision", "--queue", "SLURM", "--state", state, "--table"), "8 alive")
	})
	_ = p.end(t, syscall.SIGKILL)
	p = provision()
	eventually(t, 10*time.Minute, "all jobs done and no pilot left", func() bool {
		table := divvy("provision", "--queue", "SLURM", "--state", state, "--table")
		return strings.Contains(divvy("task", "show", "1", "-o", "json"), `"state": "done"`) && strings.Contains(table, "0 asked, 0 queued, 0 alive")
	})
	accounts := []string{"sacct", "-X", "-n", "-P", "-o", "jobname"}
	eventually(t, time.Minute, "the accounts of Slurm", func() bool { return len(names(accounts...)) >= 8 })
	all := names(accounts...)
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) || n != 8 {
		t.Errorf("Slurm was given %d pilots of %d names, expected 8 of 8: %v", len(all), n, all)
	}
	p.stops(t)
	d.stops(t)
}
