//go:build clusters

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// provisioned is a daemon with a queue whose pilots are started in a batch system.
type provisioned struct {
	t     *testing.T
	env   []string
	url   string
	dsn   string
	state string
	parts []*program // daemon, provisioner
}

// provisionIn starts both. The queue BATCH has that provision.
func provisionIn(t *testing.T, env []string, site, provision string, args ...string) *provisioned {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "site.yml")
	text := "shares: [{name: A, weight: 1}]\ntags: [{match: {}, share: A}]\nqueues: [{name: BATCH, provision: {" + provision + "}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &provisioned{t: t, env: env, dsn: pgtest.DSN(t), state: filepath.Join(dir, "state")}
	d := start(t, env, "serve", "--database", p.dsn, "--listen", "127.0.0.1:0", "--site", file)
	p.url = d.says(t, `msg=serving url=(\S+)`)
	p.parts = []*program{d, start(t, env, append([]string{"provision", "--server", p.url, "--queue", "BATCH", "--site", site, "--state", p.state}, args...)...)}
	return p
}

// sh runs a line of shell, as a client of the batch system.
func (p *provisioned) sh(line string) string {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// divvy runs a command at the daemon.
func (p *provisioned) divvy(args string) string {
	p.t.Helper()
	return p.sh(binary(p.t) + " " + args + " --server " + p.url)
}

// submit hands in a task of one attempt a job.
func (p *provisioned) submit(command string, jobs int) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "work.yml")
	text := fmt.Sprintf("name: work\nuser: alice\nmax_attempts: 1\ncommand: [sh, -c, %q]\ncount: %d\n", command, jobs)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.divvy("task submit -f " + file)
}

// done waits for the task and for the end of all pilots.
func (p *provisioned) done(within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, "all jobs done and no pilot left", func() bool {
		table := p.sh(binary(p.t) + " provision --queue BATCH --state " + p.state + " --table")
		return strings.Contains(p.divvy("task show 1 -o json"), `"state": "done"`) && strings.Contains(table, "0 asked, 0 queued, 0 alive")
	})
}

// outcomes counts attempts by how they ended, once daemon and provisioner have stopped.
func (p *provisioned) outcomes() map[string]int {
	p.t.Helper()
	p.parts[1].stops(p.t)
	// The tables follow the log within seconds; the daemon folds the rest when it stops.
	p.parts[0].stops(p.t)
	n := map[string]int{}
	for _, all := range readRecord(p.t, p.dsn).attempts {
		for _, a := range all {
			n[a.Outcome]++
		}
	}
	return n
}

// run waits until jobs of the task run.
func (p *provisioned) run(jobs int) {
	p.t.Helper()
	eventually(p.t, time.Minute, "jobs run", func() bool {
		return strings.Contains(p.divvy("task show 1 -o json"), fmt.Sprintf(`"leased": %d`, jobs))
	})
}

// Slurm ends all processes of a batch job, when it is deleted or at its limit: the jobs of its pilot go back, and run elsewhere, though they
// may be tried only once.
func TestClustersProvisionEnds(t *testing.T) {
	env := slurm(t)
	for name, c := range map[string]struct{ walltime, left, end string }{"deleted": {"30m", "29:", "scancel --me"}, "at its limit": {"2m", "1:", "true"}} {
		t.Run(name, func(t *testing.T) {
			gate := filepath.Join(t.TempDir(), "gate")
			p := provisionIn(t, env, "slurm", "max: 1, slots: 4, idle: 5s, walltime: "+c.walltime)
			p.submit("until [ -e "+gate+" ]; do sleep 0.1; done", 4)
			p.run(4)
			if left := p.sh("squeue --noheader --format=%L"); !strings.HasPrefix(strings.TrimSpace(left), c.left) {
				t.Errorf("the batch job has %s left, want %s", left, c.walltime)
			}
			p.sh(c.end)
			eventually(t, 5*time.Minute, "the jobs run again", func() bool {
				return strings.Count(p.divvy("job list --task 1 -o json"), `"attempt": 2`) == 4 && strings.Contains(p.divvy("task show 1 -o json"), `"leased": 4`)
			})
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p.done(time.Minute)
			if n := p.outcomes(); n["revoked"] != 4 || n["finished"] != 4 || len(n) != 2 {
				t.Errorf("attempts: %v, want 4 revoked and 4 finished", n)
			}
		})
	}
}

// In Grid Engine pilots come and leave, and jobs of one that is deleted go back before it is killed.
func TestClustersProvisionGridEngine(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	p := provisionIn(t, cluster(t, "gridengine.sh"), "gridengine", "max: 1, slots: 4, idle: 5s, walltime: 30m", "--set", "options=-pe smp 4")
	p.submit("until [ -e "+gate+" ]; do sleep 0.1; done", 4)
	p.run(4)
	p.sh("qdel -u '*'")
	eventually(t, 2*time.Minute, "the jobs run again", func() bool {
		return strings.Count(p.divvy("job list --task 1 -o json"), `"attempt": 2`) == 4 && strings.Contains(p.divvy("task show 1 -o json"), `"leased": 4`)
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.done(2 * time.Minute)
	if n := p.outcomes(); n["revoked"] != 4 || n["finished"] != 4 || len(n) != 2 {
		t.Errorf("attempts: %v, want 4 revoked and 4 finished", n)
	}
}

// sshd answers on a port of this machine alone, and lets the tests in by a key. It returns the options of ssh.
func sshd(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Fatalf("%v: this test needs openssh-server", err)
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "mine"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	_ = os.Mkdir("/run/sshd", 0o755) // where it locks itself up while nobody is logged in
	config := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n",
		port, file("host"), file("mine.pub"))
	if err := os.WriteFile(file("config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := exec.Command(program, "-D", "-e", "-f", file("config"))
	d.Stderr = t.Output()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() })
	options := fmt.Sprintf("-q -F none -p %s -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null", port, file("mine"))
	eventually(t, 20*time.Second, "ssh", func() bool {
		return exec.Command("sh", "-c", "ssh -o BatchMode=yes "+options+" 127.0.0.1 true").Run() == nil
	})
	return options
}

// By ssh pilots come, run all jobs, and leave.
func TestClustersProvisionSSH(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	p := provisionIn(t, environment(), "ssh", "max: 2, slots: 2, idle: 5s, walltime: 30m", "--set", "host=127.0.0.1", "--set", "options="+sshd(t))
	p.submit("until [ -e "+gate+" ]; do sleep 0.1; done", 4)
	p.run(4)
	names := strings.Fields(p.sh("ps -ww -eo args= | sed -n 's/^.*pilot.* --name \\(divvy-BATCH-[^ ]*\\)$/\\1/p' | sort"))
	if n := len(slices.Compact(slices.Clone(names))); n != 2 || len(names) != 2 {
		t.Errorf("%v run, want two pilots of two names", names)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.done(time.Minute)
	if n := p.outcomes(); n["finished"] != 4 || len(n) != 1 {
		t.Errorf("attempts: %v, want 4 finished", n)
	}
}
