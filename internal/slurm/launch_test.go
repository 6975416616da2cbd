package slurm

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// launched runs a job's launcher as a pilot would, as this piece, and returns what it says besides its files.
func launched(t testing.TB, j Job, piece int, args ...string) (string, error) {
	t.Helper()
	work, err := os.MkdirTemp("", "slurm")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	j.Args = args
	cmd := exec.Command("/bin/sh", append([]string{"-c", j.Launcher(), "slurm_script", strconv.Itoa(piece), j.Script}, args...)...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "DIVVY_WORK=" + work, "DIVVY_TASK=12", "DIVVY_JOB=345", "DIVVY_ATTEMPT=1", "DIVVY_QUEUE=Q", "DIVVY_WALLTIME_S=100", "DIVVY_STARTED=1764450000"}
	for name, value := range j.Environment(Host{User: "alice", UID: "7", SubmitHost: "h", SubmitDir: j.Files.Dir}) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

func job(t testing.TB, dir, script string, options ...string) Job {
	t.Helper()
	g, err := Parse("sbatch", options)
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJob(g, dir)
	if err != nil {
		t.Fatal(err)
	}
	j.Script, j.Umask = script, 0o022
	return j
}

func TestLauncher(t *testing.T) {
	const echo = "#!/bin/sh\necho out $SLURM_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_JOB_PARTITION; echo err >&2; pwd\n"
	for _, tc := range []struct {
		name    string
		options []string
		piece   int
		files   map[string]string // DIR stands for the folder
	}{
		{"time", []string{"-t", "5"}, 0, map[string]string{"slurm-12.out": "out 12 Q\nerr\nDIR\n"}},
		{"default", nil, 0, map[string]string{"slurm-12.out": "out 12 Q\nerr\nDIR\n"}},
		{"array", []string{"-a", "5-9:2,20"}, 3, map[string]string{"slurm-12_20.out": "out 1000000000345 20 Q\nerr\nDIR\n"}},
		{"middle of an array", []string{"-a", "5-9:2,20"}, 2, map[string]string{"slurm-12_9.out": "out 1000000000345 9 Q\nerr\nDIR\n"}},
		{"two files", []string{"-o", "%x.%j.out", "-e", "%A-%5a 'e'.err", "-J", "it's"}, 0, map[string]string{"it's.12.out": "out 12 Q\nDIR\n", "12-4294967294 'e'.err": "err\n"}},
		{"padded", []string{"-o", "a%%b-%5j-%q-%u"}, 0, map[string]string{"a%b-00012-%q-alice": "out 12 Q\nerr\nDIR\n"}},
		{"append", []string{"-o", "old", "--open-mode=append"}, 0, map[string]string{"old": "old\nout 12 Q\nerr\nDIR\n"}},
		{"truncate", []string{"-o", "old"}, 0, map[string]string{"old": "out 12 Q\nerr\nDIR\n"}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		j := job(t, dir, echo, tc.options...)
		if out, err := launched(t, j, tc.piece); err != nil || out != "" {
			t.Errorf("%s: %v %s", tc.name, err, out)
		}
		for file, want := range tc.files {
			got, err := os.ReadFile(filepath.Join(dir, file))
			if want = strings.ReplaceAll(want, "DIR", dir); err != nil || string(got) != want {
				t.Errorf("%s: %s has %q, %v; want %q", tc.name, file, got, err, want)
			}
		}
	}
}

// What cannot be done is said where divvy shows it.
func TestLauncherFails(t *testing.T) {
	const script = "#!/bin/sh\ntrue\n"
	for says, options := range map[string][]string{
		"cannot enter the folder":     {"-D", "/nonexistent"},
		"cannot open no/such/folder":  {"-o", "no/such/folder/%j"},
		"cannot open /nonexistent/in": {"-i", "/nonexistent/in"},
	} {
		if out, err := launched(t, job(t, t.TempDir(), script, options...), 0); err == nil || !strings.Contains(out, says) {
			t.Errorf("%q: %v, says %q and not %q", options, err, out, says)
		}
	}
}

// Scripts, arguments and names of files arrive as they are.
func TestLauncherQuotes(t *testing.T) {
	nasty := []string{"", "a b", "it's", `"$HOME" \`, "`id` $(id)", "a\nb\n", "{{.Index}} {{", "é\t*?", "-n", "%s %d"}
	for _, text := range nasty {
		dir := t.TempDir()
		name := "x" + strings.NewReplacer("/", "", "%", "").Replace(text)
		line := strings.ReplaceAll(text, "\n", " ")
		j := job(t, dir, "#!/bin/sh\n# "+line+"\nfor a; do printf '%s|' \"$a\"; done\ntail -n +2 \"$0\" | head -n 1\n", "-o", name)
		if out, err := launched(t, j, 0, nasty...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := strings.Join(nasty, "|") + "|# " + line + "\n"
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// A script that is not for /bin/sh, or that names itself, can run itself again.
func TestLauncherMakesExecutable(t *testing.T) {
	for _, script := range []string{"#!/bin/sh\nif [ -z \"$1\" ]; then exec \"$0\" again; fi; echo $1 $SLURM_JOB_START_TIME\n", "#!/bin/bash\necho again $SLURM_JOB_START_TIME\n"} {
		dir := t.TempDir()
		if out, err := launched(t, job(t, dir, script, "-t", "5", "-o", "out"), 0); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(got) != "again 1764450000\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// With B: the script itself gets the signal before its time limit.
func TestLauncherSignals(t *testing.T) {
	dir := t.TempDir()
	j := job(t, dir, "#!/bin/sh\ntrap 'echo got; exit 3' USR2\nwhile :; do sleep 0.05; done\n", "-t", "1:01", "--signal=B:USR2@60", "-o", "out")
	out, err := launched(t, j, 0)
	if got, _ := os.ReadFile(filepath.Join(dir, "out")); string(got) != "got\n" || err == nil {
		t.Errorf("%v %s; the file has %q", err, out, got)
	}
}

func TestExported(t *testing.T) {
	environ := []string{"HOME=/h", "PATH=/bin", "A=1", "B=x=y", "SLURM_JOB_ID=5", "DIVVY_TOKEN=secret", "DIVVY_SERVER=u", "PWD=/x", "SBATCH_A=1"}
	for export, want := range map[string][]string{
		"":          {"A=1", "B=x=y", "DIVVY_SERVER=u", "HOME=/h", "PATH=/bin", "SBATCH_A=1"},
		"ALL":       {"A=1", "B=x=y", "DIVVY_SERVER=u", "HOME=/h", "PATH=/bin", "SBATCH_A=1"},
		"ALL,A=2,C": {"A=2", "B=x=y", "DIVVY_SERVER=u", "HOME=/h", "PATH=/bin", "SBATCH_A=1"},
		"C=3,ALL":   {"A=1", "B=x=y", "C=3", "DIVVY_SERVER=u", "HOME=/h", "PATH=/bin", "SBATCH_A=1"},
		"NONE":      {"HOME=/h", "PATH=/bin"},
		"A,C=3":     {"A=1", "C=3", "HOME=/h", "PATH=/bin"},
	} {
		env := Exported(export, environ)
		var got []string
		for _, name := range slices.Sorted(maps.Keys(env)) {
			got = append(got, name+"="+env[name])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", export, got, want)
		}
	}
}

func TestNewJob(t *testing.T) {
	j := job(t, "/w", "", "-D", "sub", "-n", "2", "-c", "3", "--mem-per-cpu=100", "-t", "5", "-C", "os=el9&gpu=a", "-L", "maya:2,x", "-p", "a,b", "--nice=5", "--no-requeue", "-N", "1")
	n := j.Needs
	if j.Files.Dir != "/w/sub" || n.Cores() != 6 || n.MemoryMiB != 600 || n.Time != 5*time.Minute || n.Labels["os"] != "el9" || n.Labels["gpu"] != "a" || n.Licenses["maya"] != 2 || n.Licenses["x"] != 1 ||
		!slices.Equal(n.Partitions, []string{"a", "b"}) || j.Priority != -5 || !j.NoRequeue {
		t.Errorf("%+v", j)
	}
	env := j.Environment(Host{})
	for name, want := range map[string]string{"SLURM_NTASKS": "2", "SLURM_CPUS_PER_TASK": "3", "SLURM_MEM_PER_CPU": "100", "SLURM_CPUS_ON_NODE": "6"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	if j := job(t, "/w", "", "-p", Any); len(j.Needs.Partitions) != 0 {
		t.Errorf("any is bound to %q", j.Needs.Partitions)
	}
	for says, options := range map[string][]string{
		"--nodes=2": {"-N", "2"}, "--cpus-per-task": {"-c", "0"}, "--time": {"-t", "x"}, "--mem": {"--mem", "x"}, "--constraint": {"-C", "gpu"}, "license": {"-L", "a:x"},
		"--open-mode": {"--open-mode=x"}, "array": {"-a", "x"}, "Dependency": {"-d", "x"}, "kill-on-invalid-dep": {"--kill-on-invalid-dep=no"}, "--signal": {"--signal=$"}, "--priority": {"--priority=x"}, "--tmp": {"--tmp=x"},
	} {
		g, err := Parse("sbatch", options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewJob(g, "/"); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(says)) {
			t.Errorf("%q: %v, does not say %s", options, err, says)
		}
	}
}
