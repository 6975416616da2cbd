//go:build containers

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// busyboxImage is what the page of containers names. Machines without a registry get one of their own busybox.
const busyboxImage = "docker.io/library/busybox:1.37"

// hybridConf is for podman on machines that have control groups of both versions, or may not raise limits: sandboxes.
const hybridConf = "[engine]\nruntime = \"runc\"\n[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n"

// runtimeOf returns the environment in which a runtime runs busyboxImage here.
func runtimeOf(t *testing.T, name string) (env []string) {
	t.Helper()
	env = slices.DeleteFunc(environment(), func(kv string) bool { return name == "podman" && strings.HasPrefix(kv, "DOCKER_") })
	call := func(args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := call("info"); err != nil {
		t.Skipf("SKIPPED: no %s: %v", name, err)
	}
	if call("image", "inspect", busyboxImage) != nil {
		if err := call("import", busyboxTar(t), busyboxImage); err != nil {
			t.Fatal(err)
		}
	}
	run := []string{"run", "--rm", "--network=host", busyboxImage, "true"}
	err := call(run...)
	if err != nil && name == "podman" {
		conf := filepath.Join(t.TempDir(), "containers.conf")
		if err := os.WriteFile(conf, []byte(hybridConf), 0o600); err != nil {
			t.Fatal(err)
		}
		env = append(env, "CONTAINERS_CONF="+conf)
		err = call(run...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// busyboxTar is a file system with busybox alone.
func busyboxTar(t *testing.T) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("%v: apt-get install busybox-static", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "busybox.tar")
	script := `mkdir -p root/bin root/etc root/tmp && cp "$1" root/bin/busybox && cd root/bin && for a in sh sleep echo cat env id kill true head tail touch stat; do ln -s busybox $a; done
cd .. && echo root:x:0:0:root:/root:/bin/sh > etc/passwd && tar -cf "$2" .`
	cmd := exec.Command("sh", "-c", script, "sh", busybox, file)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

func TestContainersPodman(t *testing.T) {
	inContainers(t, "podman", busyboxImage, runtimeOf(t, "podman"))
}
func TestContainersDocker(t *testing.T) {
	inContainers(t, "docker", busyboxImage, runtimeOf(t, "docker"))
}

// Apptainer runs a folder as an image. Root keeps none of its rights in it: sandboxes have not all of them to give.
func TestApptainer(t *testing.T) {
	if _, err := exec.LookPath("apptainer"); err != nil {
		t.Fatalf("%v: this test needs apptainer: .ci/trixie", err)
	}
	image := t.TempDir()
	if out, err := exec.Command("tar", "-xf", busyboxTar(t), "-C", image).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inContainers(t, "apptainer --no-privs", image, environment())
}

// inContainers has a pilot run jobs in containers of a real runtime: what they see, how they end, and that none is left, whatever dies.
func inContainers(t *testing.T, containers, image string, env []string) {
	name, _, _ := strings.Cut(containers, " ")
	dir := t.TempDir()
	page, err := os.ReadFile("../../docs/howto/containers.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(yaml|sh)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 || !strings.Contains(blocks[0][2], "containers: podman") {
		t.Fatal("docs/howto/containers.md has other blocks than a site file and a command")
	}
	site := filepath.Join(dir, "site.yml")
	if err := os.WriteFile(site, []byte(strings.Replace(blocks[0][2], "containers: podman", "containers: "+containers, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, append(slices.Clone(env), "DIVVY_LEASE_RENEW=500ms"), "serve", "--database", pgtest.DSN(t), "--listen", "127.0.0.1:0", "--site", site)
	url := d.says(t, `msg=serving url=(\S+)`)
	work := filepath.Join(dir, "pilot")
	begin := func() *program {
		return start(t, env, "pilot", "--server", url, "--queue", "CERN", "--slots", "4", "--work-dir", work, "--log-level", "debug")
	}
	p := begin()
	folder := filepath.Join(dir, "my folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	bash := func(script string) (string, error) {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(slices.Clone(env), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"), "DIVVY_SERVER="+url)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(rest string) (string, error) { return bash("divvy run --image " + image + " " + rest) }
	if out, err := bash(strings.Replace(blocks[1][2], busyboxImage, image, 1)); err != nil || !strings.Contains(out, "I am in "+folder+"\n") {
		t.Fatalf("the command of the page: %v\n%s", err, out)
	}

	t.Run("see", func(t *testing.T) {
		input := filepath.Join(dir, "in,put")
		if err := os.WriteFile(input, []byte("of the input\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("OF_THE_PILOT", "yes")
		script := `cat "$1"; echo kept > kept; echo "{\"n\": $DIVVY_INDEX}" > $DIVVY_OUTPUTS; touch $TMPDIR/x $HOME/y; id -u; env; touch "$1" && echo written`
		out, err := run(fmt.Sprintf("--env 'COLOUR=dark red' --input-glob '%s' -- sh -c '%s' sh '{{.Input}}'; true", input, script))
		for _, want := range []string{"of the input\n", fmt.Sprintf("%d\n", os.Geteuid()), "COLOUR=dark red\n", "DIVVY_QUEUE=CERN\n", "HOME=" + work} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not see %q: %v\n%s", want, err, out)
			}
		}
		if strings.Contains(out, "written") || strings.Contains(out, "OF_THE_PILOT") {
			t.Errorf("it wrote its input, or sees the pilot's variables:\n%s", out)
		}
		if b, err := os.ReadFile(filepath.Join(folder, "kept")); err != nil || string(b) != "kept\n" {
			t.Errorf("a file of the job: %q %v", b, err)
		}
	})
	t.Run("ends", func(t *testing.T) {
		fetch := " cannot fetch it: "
		if name == "apptainer" { // which fetches when it runs
			fetch = ": "
		}
		for want, rest := range map[string]string{
			"exit code 7": "-- sh -c 'exit 7'",
			"cannot start: image " + image + ": " + name + ": ":              "-- no-such-command",
			"cannot start: image localhost/no/such/image:1: " + name + fetch: "--image localhost/no/such/image:1 -- true",
			"walltime limit: ran ": "--time 1s -- sleep 1000",
			"memory":               "--memory 50m -- sh -c 'tail -c 300m /dev/zero > /dev/null'",
		} {
			if out, err := run(rest); err == nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v, want %q\n%s", rest, err, want, out)
			}
		}
	})
	t.Run("kill", func(t *testing.T) {
		id := detached(t, run, "-- sh -c 'trap \"echo cleaned > cleaned; exit 3\" TERM; echo > up; while :; do sleep 0.1; done'")
		await(t, filepath.Join(folder, "up"))
		if out, err := bash("divvy task kill " + id); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		await(t, filepath.Join(folder, "cleaned"))
	})
	t.Run("killed pilot", func(t *testing.T) {
		id := detached(t, run, "-- sh -c 'echo > up2; trap \"\" TERM; sleep 10000'")
		await(t, filepath.Join(folder, "up2"))
		if left := named(t, name, env); len(left) != 1 {
			t.Errorf("containers: %q", left)
		}
		_ = p.end(t, syscall.SIGKILL)
		eventually(t, time.Minute, "no container", func() bool { return len(named(t, name, env)) == 0 })
		if out, err := bash("divvy task kill " + id); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	p = begin()
	if out, err := run("-- true"); err != nil {
		t.Errorf("the next pilot: %v\n%s", err, out)
	}
	p.stops(t)
	if left := named(t, name, env); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
}

func detached(t *testing.T, run func(string) (string, error), rest string) (id string) {
	t.Helper()
	out, err := run("--detach " + rest)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

func await(t *testing.T, file string) {
	t.Helper()
	eventually(t, time.Minute, "the file "+file, func() bool { _, err := os.Stat(file); return err == nil })
}

// named are the containers of pilots that a runtime knows of, in whatever state.
func named(t *testing.T, name string, env []string) []string {
	t.Helper()
	cmd := exec.Command(name, "ps", "--all", "--filter", "name=divvy-", "--format", "{{.Names}}")
	if name == "apptainer" { // its containers are processes of the pilot
		cmd = exec.Command("sh", "-c", "ps -eo pid=,args= | sed -n 's/^ *\\([0-9]*\\) sleep 10000$/\\1/p'")
	}
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
