//go:build clusters

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

const besideSite = `
shares: [{name: A, weight: 3}, {name: B, weight: 1}]
tags: [{match: {working_group: b}, share: B}, {match: {}, share: A}]
queues: [{name: LOCAL, slots: 8, cores: 8, memory_mb: 16000, disk_mb: 10000, walltime: 24h}]
`

// besideArrays submits two arrays of two accounts and waits for them, by the words of Slurm.
const besideArrays = `set -e
a=$(sbatch --parsable --account=A --array=1-%[1]d --time=5 --mem=100 --output=/dev/null --wrap='echo x >%[2]s/a$SLURM_ARRAY_TASK_ID')
b=$(sbatch --parsable --account=B --array=1-%[1]d --time=5 --mem=100 --output=/dev/null --wrap='echo x >%[2]s/b$SLURM_ARRAY_TASK_ID')
echo submitted
while [ -n "$(squeue --noheader --jobs=$a,$b --format=%%i 2>/dev/null)" ]; do sleep 1; done`

// arrays runs both arrays in an environment and returns how long they took, submission included. Each job leaves a file.
func arrays(t *testing.T, env []string, jobs int, submitted func()) time.Duration {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", fmt.Sprintf(besideArrays, jobs/2, dir))
	cmd.Env, cmd.Dir, cmd.Stderr = env, dir, t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	word := make([]byte, len("submitted"))
	if _, err := out.Read(word); err == nil {
		submitted()
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != jobs {
		t.Errorf("%d of %d jobs left a file, %v", len(files), jobs, err)
	}
	return took
}

// besideDAG is a workflow for Snakemake: for each of SAMPLES 24 steps, which are one job of the batch system, as people group what is
// short; then pairs of neighbours; then their sum. A job of the batch system starts an interpreter twice.
const besideDAG = `
N = int(os.environ["SAMPLES"])
rule total:
    input: expand("p{i}", i=range(N - 1))
    output: "total"
    resources: mem_mb=100, runtime=5
    shell: "cat p* | awk '{{s += $1}} END {{print s}}' >{output}"
rule first:
    output: "s{i,[0-9]+}.1"
    group: "sample"
    resources: mem_mb=100, runtime=5
    shell: "echo {wildcards.i} >{output}"
for k in range(2, 25):
    rule:
        name: "step%d" % k
        input: "s{i}.%d" % (k - 1)
        output: "s{i,[0-9]+}.%d" % k
        group: "sample"
        resources: mem_mb=100, runtime=5
        shell: "echo $(($(cat {input}) + 1)) >{output}"
rule pair:
    input: lambda w: ["s%d.24" % int(w.i), "s%d.24" % (int(w.i) + 1)]
    output: "p{i}"
    resources: mem_mb=100, runtime=5
    shell: "cat {input} >{output}"
`

// dags runs the workflow twice at a time, for two accounts, and returns how long both took.
func dags(t *testing.T, env []string, jobs int, submitted func()) time.Duration {
	t.Helper()
	if _, err := exec.LookPath("snakemake"); err != nil {
		t.Fatalf("%v: snakemake.sh of DIVVY_CLUSTER_TOOLS installs it", err)
	}
	begun := time.Now()
	var all sync.WaitGroup
	for _, account := range []string{"A", "B"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Snakefile"), []byte(besideDAG), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("snakemake", "--nocolor", "--quiet", "--latency-wait", "15", "--slurm", "--jobs", "60", "--max-status-checks-per-second", "1",
			"--default-resources", "slurm_extra='-A "+account+"'")
		cmd.Env, cmd.Dir = append(slices.Clone(env), "USER=root", "HOME="+dir, "XDG_CACHE_HOME="+dir, fmt.Sprintf("SAMPLES=%d", jobs/50)), dir
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("the workflow of %s: %v\n%s", account, err, out)
				logs, _ := filepath.Glob(filepath.Join(dir, ".snakemake/slurm_logs/*/*"))
				for _, log := range logs[:min(len(logs), 2)] {
					said, err := os.ReadFile(log)
					t.Logf("%s: %s %v", log, said, err)
				}
			}
			n := jobs / 50
			want := strconv.Itoa((n - 1) * (n + 45)) // i + 23 of each sample i, twice but the first and the last
			if got, err := os.ReadFile(filepath.Join(dir, "total")); err != nil || strings.TrimSpace(string(got)) != want {
				t.Errorf("the total of %s is %q, not %s: %v", account, got, want, err)
			}
		})
	}
	submitted()
	all.Wait()
	return time.Since(begun)
}

// beside runs work on the real Slurm, and then on divvy with a pilot from when the work calls submitted. Each has eight slots. divvy must not
// be slower, if that is bound.
func beside(t *testing.T, jobs int, bound bool, extra []string, work func(t *testing.T, env []string, jobs int, submitted func()) time.Duration) record {
	t.Helper()
	theirs := work(t, slurm(t, "SLURM_CPUS=8", "SLURM_MB=16000"), jobs, func() {})

	site := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(site, []byte(besideSite), 0o600); err != nil {
		t.Fatal(err)
	}
	dsn, bin := pgtest.DSN(t), t.TempDir()
	d := start(t, environment(), "serve", "--database", dsn, "--listen", "127.0.0.1:0", "--site", site)
	url := d.says(t, `msg=serving url=(\S+)`)
	env := environment(append([]string{"PATH=" + bin + ":" + os.Getenv("PATH")}, extra...)...)
	install := exec.Command(binary(t), "slurm", "install", bin, "--server", url)
	install.Env = environment()
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var p *program
	ours := work(t, env, jobs, func() {
		p = start(t, environment(), "pilot", "--queue", "LOCAL", "--slots", "8", "--cores", "8", "--memory-mb", "16000", "--server", url, "--work-dir", t.TempDir())
	})
	p.stops(t)
	d.stops(t)
	t.Logf("%d jobs: %s on Slurm, %s on divvy", jobs, theirs, ours)
	if bound && ours > theirs {
		t.Errorf("%d jobs took %s on divvy, and %s on Slurm", jobs, ours, theirs)
	}
	return readRecord(t, dsn)
}

// longOr is how many jobs there are at night, or else.
func longOr(long, short int) int {
	if os.Getenv("DIVVY_LONG") != "" {
		return long
	}
	return short
}

// Arrays of two accounts: 2,000 jobs, or 200. Both shares have jobs when the first slot comes.
func TestClustersSlurmWordsBeside(t *testing.T) {
	r := beside(t, longOr(2000, 200), true, nil, arrays)
	if both := compete(t, r, map[string]int{"A": 6, "B": 2}); 2*both < len(r.attempts) {
		t.Errorf("the shares competed for %d of %d grants only", both, len(r.attempts))
	}
}

// Two workflows of Snakemake, unmodified: 2,000 jobs, or 400. They ask for 100 MB, which their Python alone exceeds: the Slurm that they were
// written for does not look. How long they take is said, and not bound yet: they ask for the state of a job a second, by a command that takes a
// tenth of a second of the processors that the jobs need as well, which was a fifth more on a quiet machine.
func TestClustersSnakemakeBeside(t *testing.T) {
	r := beside(t, longOr(2000, 400), false, []string{"DIVVY_SLURM_MIN_MEMORY_MB=1000"}, dags)
	if both := compete(t, r, map[string]int{"A": 6, "B": 2}); both == 0 {
		t.Error("the shares did not compete")
	}
}

// compete checks at each grant that no share goes over its target while another one that is under its own has a job which is ready. It
// returns how many grants there were while each share had one.
func compete(t *testing.T, r record, targets map[string]int) (both int) {
	t.Helper()
	const (
		end = iota // of one moment, in this order
		grant
		ready
	)
	type step struct {
		at    time.Time
		kind  int
		share string
	}
	var steps []step
	for _, all := range r.attempts {
		for _, a := range all {
			if _, is := targets[a.Share]; !is || a.Outcome != "finished" || a.Attempt != 1 {
				t.Errorf("job %d, attempt %d, of %s: %s", a.JobID, a.Attempt, a.Share, a.Outcome)
			}
			since, is := r.ready[try{a.JobID, 1}]
			if !is {
				t.Fatalf("the log does not say since when job %d was ready", a.JobID)
			}
			steps = append(steps, step{since, ready, a.Share}, step{a.ClaimedAt, grant, a.Share}, step{a.EndedAt, end, a.Share})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind)) })
	held, free := map[string]int{}, map[string]int{}
	for len(steps) > 0 {
		n := slices.IndexFunc(steps, func(s step) bool { return s.at != steps[0].at || s.kind != steps[0].kind })
		if n < 0 {
			n = len(steps)
		}
		moment := steps[:n]
		steps = steps[n:]
		if moment[0].kind == grant && !slices.ContainsFunc(slices.Collect(maps.Keys(targets)), func(share string) bool { return free[share] <= 0 }) {
			both += n
		}
		for _, s := range moment {
			switch s.kind {
			case end:
				held[s.share]--
			case ready:
				free[s.share]++
			case grant:
				held[s.share]++
				free[s.share]--
			}
		}
		for _, s := range moment { // grants of one moment are one batch, whose order is not in the record
			for share, target := range targets {
				if s.kind == grant && share != s.share && free[share] > 0 && held[share] < target && held[s.share] > targets[s.share] {
					t.Errorf("%s: %s gets a slot and holds %d, its target is %d, while %s holds %d and has %d jobs ready", s.at, s.share, held[s.share], targets[s.share], share, held[share], free[share])
				}
			}
		}
	}
	t.Logf("%d of %d grants while both shares had jobs", both, len(r.attempts))
	return both
}
