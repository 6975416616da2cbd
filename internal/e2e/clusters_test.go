//go:build clusters

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// clusterTools has scripts that install workflow engines and run a small workflow with each.
func clusterTools(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DIVVY_CLUSTER_TOOLS")
	if dir == "" {
		dir = "../../../shared/tools/clusters"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "snakemake.sh")); err != nil {
		t.Fatalf("%v: these tests need the scripts of DIVVY_CLUSTER_TOOLS", err)
	}
	return dir
}

const clusterSite = `
shares: [{name: A, weight: 1}]
tags: [{match: {label: user}, share: A}]
queues: [{name: LOCAL, slots: 8, cores: 8, memory_mb: 16000, disk_mb: 10000, walltime: 24h}]
`

// Snakemake and Toil, as Debian has them, run their workflows on divvy and take it for Slurm.
func TestClustersSlurmWords(t *testing.T) {
	tools := clusterTools(t)
	site := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(site, []byte(clusterSite), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, environment(), "serve", "--database", pgtest.DSN(t), "--listen", "127.0.0.1:0", "--site", site)
	url := d.says(t, `msg=serving url=(\S+)`)
	p := start(t, environment(), "pilot", "--queue", "LOCAL", "--slots", "8", "--cores", "8", "--memory-mb", "16000", "--server", url, "--work-dir", t.TempDir())
	bin := t.TempDir()
	// The workflows ask for 100 MB, which their Python alone exceeds: the Slurm that they were written for does not look.
	env := environment("DIVVY_SLURM_MIN_MEMORY_MB=1000")
	install := exec.Command(binary(t), "slurm", "install", bin, "--server", url)
	install.Env = env
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for script, want := range map[string]string{"snakemake.sh": "30 jobs right in ", "toil.sh": "7 jobs right in "} {
		t.Run(script, func(t *testing.T) {
			dir := t.TempDir()
			run := exec.Command(filepath.Join(tools, script), "slurm", dir)
			run.Env = append(env, "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := run.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			calls, err := os.ReadFile(filepath.Join(dir, "calls.log"))
			if err != nil {
				t.Fatal(err)
			}
			command := ""
			for line := range strings.Lines(string(calls)) {
				if at, call, _ := strings.Cut(line, " "); call != "" && strings.Trim(at, "0123456789.") == "" {
					command, _, _ = strings.Cut(call, " ")
				}
				if strings.HasPrefix(line, "err: ") && command != "srun" { // it passes on what its own command says
					t.Errorf("%s complains: %s", command, line)
				}
			}
		})
	}
	p.stops(t)
	d.stops(t)
}
