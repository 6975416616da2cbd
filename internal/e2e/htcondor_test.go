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
)

// condorConfig is that of an HTCondor of this machine alone, which takes jobs at once.
const condorConfig = `LOCAL_DIR = %[1]s
LOG = %[1]s
LOCK = %[1]s
RUN = %[1]s
SPOOL = %[1]s/spool
EXECUTE = %[1]s/execute
RELEASE_DIR = /usr
BIN = /usr/bin
SBIN = /usr/sbin
LIBEXEC = /usr/libexec/condor
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD STARTD
NETWORK_INTERFACE = 127.0.0.1
BIND_ALL_INTERFACES = False
USE_SHARED_PORT = False
COLLECTOR_HOST = 127.0.0.1:0
COLLECTOR_ADDRESS_FILE = %[1]s/collector
use SECURITY : HOST_BASED
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
ALLOW_ADMINISTRATOR = *
NUM_CPUS = 64
MEMORY = 64000
RUNBENCHMARKS = False
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_MIN_INTERVAL = 1
PERIODIC_EXPR_INTERVAL = 2
`

// htcondor starts an HTCondor, and returns the environment of its clients. It gives root no jobs: daemons and clients are nobody's.
func htcondor(t *testing.T) []string {
	t.Helper()
	master, err := exec.LookPath("condor_master")
	if err != nil || os.Getuid() != 0 {
		t.Fatalf("%v: this test needs HTCondor, and root: .ci/trixie", err)
	}
	dir, err := os.MkdirTemp("", "divvy-condor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config, bin := filepath.Join(dir, "config"), filepath.Join(dir, "bin")
	for _, sub := range []string{"spool", "execute", "bin"} {
		_ = os.Mkdir(filepath.Join(dir, sub), 0o755)
	}
	files := map[string]string{config: fmt.Sprintf(condorConfig, dir)}
	for _, name := range []string{"condor_submit", "condor_q", "condor_rm", "condor_vacate_job", "condor_status", "condor_history"} {
		files[filepath.Join(bin, name)] = "#!/bin/sh\nHOME=" + dir + " exec setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/" + name + ` "$@"` + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("chown", "-R", "65534:65534", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = os.Chmod(dir, 0o755)
	_ = os.Chmod(filepath.Dir(binary(t)), 0o755)
	env := environment("CONDOR_CONFIG="+config, "PATH="+bin+":"+os.Getenv("PATH"))
	d := exec.Command(master, "-f")
	d.Env, d.Stderr = append(slices.Clone(env), "HOME="+dir), t.Output()
	d.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Pdeathsig: syscall.SIGTERM}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Process.Signal(syscall.SIGQUIT) // a fast end
		_ = d.Wait()
		if t.Failed() {
			out, _ := exec.Command("sh", "-c", "tail -n 30 "+dir+"/*Log*").CombinedOutput()
			t.Logf("%s", out)
		}
	})
	eventually(t, 2*time.Minute, "HTCondor", func() bool {
		cmd := exec.Command("condor_status", "-af", "Name")
		cmd.Path, cmd.Err, cmd.Env = filepath.Join(bin, "condor_status"), nil, env
		out, err := cmd.Output()
		return err == nil && len(out) > 0
	})
	return env
}

// condorPilots provisions pilots in HTCondor. Their output is nobody's.
func condorPilots(t *testing.T, env []string, provision string) *provisioned {
	t.Helper()
	p := provisionIn(t, env, "htcondor", provision)
	logs := filepath.Join(p.state, "logs")
	eventually(t, time.Minute, "the folder "+logs, func() bool { _, err := os.Stat(logs); return err == nil })
	for _, dir := range []string{logs, p.state, filepath.Dir(p.state), filepath.Dir(filepath.Dir(p.state))} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// In HTCondor pilots come for the jobs and leave after them; a provisioner that is killed twice starts none twice.
func TestHTCondorProvision(t *testing.T) {
	p := condorPilots(t, htcondor(t), "max: 8, slots: 8, idle: 5s, walltime: 30m")
	again := func() {
		_ = p.parts[1].end(t, syscall.SIGKILL) // its start command goes on
		p.parts[1] = start(t, p.env, "provision", "--server", p.url, "--queue", "BATCH", "--site", "htcondor", "--state", p.state)
	}
	p.submit("sleep 2", 200)
	eventually(t, time.Minute, "the first pilot", func() bool { return p.sh("condor_q -af JobBatchName") != "" })
	again()
	eventually(t, 2*time.Minute, "pilots that are alive", func() bool {
		return strings.Contains(p.sh(binary(t)+" provision --queue BATCH --state "+p.state+" --table"), "8 alive")
	})
	again()
	p.done(5 * time.Minute)
	names := strings.Fields(p.sh("condor_q -af JobBatchName; condor_history -af JobBatchName"))
	slices.Sort(names)
	if n := len(slices.Compact(slices.Clone(names))); n != len(names) || n != 8 {
		t.Errorf("HTCondor was given %d pilots of %d names, expected 8 of 8: %v", len(names), n, names)
	}
	log := filepath.Join(p.state, "logs", "by-hand")
	p.sh("condor_submit <<END\nexecutable = /bin/sh\nerror = " + log + "\n" + `arguments = "-c 'exec ` + binary(t) + " pilot --server " + p.url + ` --queue BATCH --max-idle 1s'"` + "\nqueue\nEND")
	eventually(t, time.Minute, "a pilot with the name of its batch job", func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), " pilot=htcondor-9.0-")
	})
	if n := p.outcomes(); n["finished"] != 200 || len(n) != 1 {
		t.Errorf("attempts: %v, want 200 finished", n)
	}
}

// Jobs of a pilot that HTCondor removes or evicts go back and run elsewhere, though they may be tried only once; it starts no pilot again.
func TestHTCondorEnds(t *testing.T) {
	env := htcondor(t)
	for _, end := range []string{"condor_rm -all", "condor_vacate_job -all"} {
		t.Run(end, func(t *testing.T) {
			gate := filepath.Join(t.TempDir(), "gate")
			p := condorPilots(t, env, "max: 1, slots: 4, idle: 5s, walltime: 30m")
			p.submit("until [ -e "+gate+" ]; do sleep 0.1; done", 4)
			p.run(4)
			p.sh(end)
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
			eventually(t, time.Minute, "an empty queue", func() bool { return p.sh("condor_q -af JobBatchName") == "" })
			if twice := p.sh("condor_history -constraint 'NumJobStarts > 1' -af JobBatchName"); twice != "" {
				t.Errorf("%s started twice", twice)
			}
		})
	}
}
