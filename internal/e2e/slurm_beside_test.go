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

// The same commands run on divvy and on the real Slurm, with eight slots each: divvy is not slower. Meanwhile its shares get what is due:
// six slots and two, at each grant as long as both have jobs. DIVVY_LONG has 2,000 jobs instead of 200.
func TestClustersSlurmWordsBeside(t *testing.T) {
	jobs := 200
	if os.Getenv("DIVVY_LONG") != "" {
		jobs = 2000
	}
	theirs := arrays(t, slurm(t, "SLURM_CPUS=8", "SLURM_MB=16000"), jobs, func() {})

	site := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(site, []byte(besideSite), 0o600); err != nil {
		t.Fatal(err)
	}
	dsn, bin := pgtest.DSN(t), t.TempDir()
	d := start(t, environment(), "serve", "--database", dsn, "--listen", "127.0.0.1:0", "--site", site)
	url := d.says(t, `msg=serving url=(\S+)`)
	env := environment("PATH=" + bin + ":" + os.Getenv("PATH"))
	install := exec.Command(binary(t), "slurm", "install", bin, "--server", url)
	install.Env = environment()
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var p *program
	ours := arrays(t, env, jobs, func() { // both shares have jobs when the first slot comes
		p = start(t, environment(), "pilot", "--queue", "LOCAL", "--slots", "8", "--cores", "8", "--memory-mb", "16000", "--server", url, "--work-dir", t.TempDir())
	})
	p.stops(t)
	d.stops(t)
	t.Logf("%d jobs: %s on Slurm, %s on divvy", jobs, theirs, ours)
	if ours > theirs {
		t.Errorf("%d jobs took %s on divvy, and %s on Slurm", jobs, ours, theirs)
	}
	compete(t, readRecord(t, dsn), map[string]int{"A": 6, "B": 2})
}

// compete checks at each grant, as long as each share has jobs for its target, that none holds more than that.
func compete(t *testing.T, r record, targets map[string]int) {
	t.Helper()
	type step struct {
		at    time.Time
		share string
		by    int
	}
	var steps []step
	left := map[string]int{}
	for _, all := range r.attempts {
		for _, a := range all {
			if _, is := targets[a.Share]; !is || a.Outcome != "finished" || a.Attempt != 1 {
				t.Errorf("job %d, attempt %d, of %s: %s", a.JobID, a.Attempt, a.Share, a.Outcome)
			}
			steps = append(steps, step{a.ClaimedAt, a.Share, 1}, step{a.EndedAt, a.Share, -1})
			left[a.Share]++
		}
	}
	// What ended at the moment of a grant ended before it.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	held, grants := map[string]int{}, 0
	for _, s := range steps {
		if held[s.share] += s.by; s.by < 0 {
			left[s.share]--
			continue
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(targets)), func(share string) bool { return left[share] < targets[share] }) {
			break // what one share does not need goes to the other
		}
		if grants++; held[s.share] > targets[s.share] {
			t.Errorf("%s: %s holds %d slots, its target is %d", s.at, s.share, held[s.share], targets[s.share])
		}
	}
	if 2*grants < len(r.attempts) {
		t.Errorf("the shares competed for %d of %d grants only", grants, len(r.attempts))
	}
	t.Logf("%d grants while both shares needed their targets", grants)
}
