package container

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text string) Runtime {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// example is a job with all that a command line can be made of.
func example() Job {
	return Job{
		Name: "divvy-17-2-ABCDEFGH", Image: "docker.io/library/python:3.13", Command: []string{"./script", "-v", "a b"}, Dir: "/home/alice/run", Work: "/w/17-2/work",
		Binds: []Bind{{Path: "/w/17-2"}, {Path: "/home/alice/run"}, {Path: "/data/a,b.txt", ReadOnly: true}, {Path: "/data/12:00", ReadOnly: true}, {Path: "/home/alice/run", ReadOnly: true}},
		Env:   map[string]string{"DIVVY_JOB": "17", "COLOUR": "red\nblue", "PATH": "/opt/bin:/bin", "http_proxy": "http://p", "USER": "alice", "TEAM_*": "x", "HOME": "/w/17-2/work"},
		Cores: 2, MemoryMB: 500, UID: 1000, GID: 100, Groups: []int{7, 8},
	}
}

// The command lines, word by word.
func TestRun(t *testing.T) {
	mounts := " --mount type=bind,source=/data/12:00,destination=/data/12:00,ro --volume /data/a,b.txt:/data/a,b.txt:ro" +
		" --mount type=bind,source=/home/alice/run,destination=/home/alice/run --mount type=bind,source=/w/17-2,destination=/w/17-2"
	variables := "|--env|COLOUR|--env|DIVVY_JOB|--env|HOME=/w/17-2/work|--env|PATH=/opt/bin:/bin|--env|TEAM_*=x|--env|USER=alice|--env|http_proxy=http://p"
	common := " run --rm --name divvy-17-2-ABCDEFGH --pull=never --network=host --log-driver=none --security-opt=label=disable --entrypoint= --workdir /home/alice/run"
	command := "|docker.io/library/python:3.13|./script|-v|a b"
	passed := map[string]string{"DIVVY_JOB": "17", "COLOUR": "red\nblue"}
	for name, c := range map[string]struct {
		text  string
		means Means
		want  string
		env   map[string]string
	}{
		"podman, rootless, without limits": {"podman", Means{Rootless: true, CPUs: 4}, "podman" + strings.Replace(common, " --rm", "", 1) + " --userns=keep-id --user 1000:100" + mounts + variables + command, passed},
		"podman of root": {"/usr/bin/podman --volume=/cvmfs:/cvmfs:ro", Means{Limits: true, Init: true, CPUs: 4},
			"/usr/bin/podman" + common + " --user 1000:100 --init --memory 550000000b --cpus 2" + mounts + variables + "|--volume=/cvmfs:/cvmfs:ro" + command, passed},
		"docker": {"docker", Means{Limits: true, Init: true, CPUs: 2}, "docker" + common + " --user 1000:100 --group-add 7 --group-add 8 --init --memory 550000000b" +
			mounts + variables + command, passed},
		"docker, rootless": {"docker", Means{Rootless: true, CPUs: 2}, "docker" + common + " --user 0:0" + mounts + variables + command, passed},
		"apptainer": {"apptainer --nv", Means{}, `apptainer exec --cleanenv --home /w/17-2/work --pwd /home/alice/run` +
			` --mount type=bind,source=/data/12:00,destination=/data/12:00,ro --mount type=bind,"source=/data/a,b.txt","destination=/data/a,b.txt",ro` +
			` --mount type=bind,source=/home/alice/run,destination=/home/alice/run --mount type=bind,source=/w/17-2,destination=/w/17-2 --nv` +
			"|docker://docker.io/library/python:3.13|./script|-v|a b",
			map[string]string{"APPTAINERENV_DIVVY_JOB": "17", "APPTAINERENV_COLOUR": "red\nblue", "APPTAINERENV_PATH": "/opt/bin:/bin", "APPTAINERENV_http_proxy": "http://p",
				"APPTAINERENV_USER": "alice", "APPTAINERENV_TEAM_*": "x"}},
		"a template": {"enroot-run --image={{.Image}} --name {{.Name}} -c {{.Cores}} -m {{.MemoryMB}} -C {{.Dir}}:{{.Work}} -- {{.Command}} end", Means{},
			"enroot-run --image=docker.io/library/python:3.13 --name divvy-17-2-ABCDEFGH -c 2 -m 500 -C /home/alice/run:/w/17-2/work --|./script|-v|a b|end", example().Env},
	} {
		t.Run(name, func(t *testing.T) {
			call, err := parsed(t, c.text).Run(example(), c.means, map[string]string{"PATH": "/bin", "USER": "root"})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i, part := range strings.Split(c.want, "|") { // the first has no word with a space
				if i == 0 {
					want = strings.Fields(part)
				} else {
					want = append(want, part)
				}
			}
			if diff := cmp.Diff(want, call.Args); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.env, call.Env); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A job without bounds and further variables; the least memory; files of apptainer.
func TestRunOfLittle(t *testing.T) {
	j := Job{Name: "n", Image: "docker://busybox", Command: []string{"true"}, Dir: "/w", Work: "/w", MemoryMB: 1}
	call, err := parsed(t, "docker").Run(j, Means{Limits: true, CPUs: 2}, nil)
	want := strings.Fields("docker run --rm --name n --pull=never --network=host --log-driver=none --security-opt=label=disable --entrypoint= --workdir /w --user 0:0 --memory 6291456b busybox true")
	if diff := cmp.Diff(want, call.Args); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for image, want := range map[string]string{"/cvmfs/x.sif": "/cvmfs/x.sif", "oras://r/x": "oras://r/x", "busybox": "docker://busybox"} {
		j.Image = image
		if call, err = parsed(t, "apptainer").Run(j, Means{}, nil); err != nil || !slices.Contains(call.Args, want) || call.Args[4] != "/w" {
			t.Errorf("%s: %q %v", image, call.Args, err)
		}
	}
}

// What a runtime could take for something else is refused.
func TestRunRefuses(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"empty command":             func(j *Job) { j.Command = []string{""} },
		`"-v/:/host" is not the na`: func(j *Job) { j.Image = "-v/:/host" },
		`"" is not the name`:        func(j *Job) { j.Image = "" },
		`"a b" is not the name`:     func(j *Job) { j.Image = "a b" },
		"a line break":              func(j *Job) { j.Binds = []Bind{{Path: "/a\nb"}} },
	} {
		for _, kind := range kinds {
			j := example()
			change(&j)
			if _, err := parsed(t, kind).Run(j, Means{}, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", kind, err, want)
			}
		}
	}
	j := example()
	j.Binds = []Bind{{Path: "/a:b,c"}}
	if _, err := parsed(t, "podman").Run(j, Means{}, nil); err == nil || !strings.Contains(err.Error(), "both a comma and a colon") {
		t.Error(err)
	}
	j = example()
	j.Env["HOME"] = "/a:b"
	if _, err := parsed(t, "apptainer").Run(j, Means{}, nil); err == nil || !strings.Contains(err.Error(), "home folder with a colon") {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"podman": "", " docker  --gpus all": "", "/opt/apptainer/bin/apptainer": "", "run {{.Image}} {{.Command}}": "",
		"": "no runtime", "singularity": "is not podman, docker, apptainer", "run {{.Image}}": "needs {{.Image}}, and {{.Command}}", "run {{.Command}}": "needs {{.Image}}",
		"run {{.Image}} x{{.Command}}": "as a word of its own", "run {{.Image}} {{.Command}} {{.Env}}": `"{{.Env}}" is no placeholder`, "{{.Image}} {{.Command}}": "the program cannot be",
	} {
		_, err := Parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What clients of Debian 12 and 13 say of themselves.
func TestMeans(t *testing.T) {
	for output, c := range map[string]struct {
		text string
		init string // that is on the machine
		want Means
	}{
		"rootless=true v=v2 [cpu memory pids]\n":  {"podman", "catatonit", Means{Rootless: true, Limits: true, Init: true, CPUs: 8}},
		"rootless=true v=v2 []":                   {"podman", "", Means{Rootless: true, CPUs: 8}},
		"rootless=true v=v1 [cpu memory]":         {"podman", "", Means{Rootless: true, CPUs: 8}},
		"rootless=false v=v1 [cpuset cpu memory]": {"podman", "docker-init", Means{Limits: true, CPUs: 8}},
		"[name=seccomp,profile=builtin name=cgroupns] memory=true cpu=true init=docker-init": {"docker", "docker-init", Means{Limits: true, Init: true, CPUs: 8}},
		"[] memory=true cpu=true init=/opt/tini":                                             {"docker", "docker-init", Means{Limits: true, CPUs: 8}},
		"[name=rootless] memory=false cpu=false init=":                                       {"docker", "", Means{Rootless: true, CPUs: 8}},
	} {
		found := func(program string) bool { return program == c.init }
		if got := parsed(t, c.text).MeansOf(output, found, 8); got != c.want {
			t.Errorf("%s %q: %+v, want %+v", c.text, output, got, c.want)
		}
	}
}

func TestOtherCalls(t *testing.T) {
	got := map[string]string{}
	for _, text := range []string{"podman", "/opt/docker", "apptainer", "x {{.Image}} {{.Command}}"} {
		r := parsed(t, text)
		for name, call := range map[string][]string{"has": r.Has("docker://a"), "end": r.End("n"), "ask": r.Ask()} {
			if len(call) > 0 {
				got[text+" "+name] = strings.Join(call, " ")
			}
		}
		if r.Outside() != (r.End("n") != nil) {
			t.Errorf("%s: what is outside has to be ended", text)
		}
	}
	want := map[string]string{
		"podman has":      "podman image exists a",
		"podman end":      "podman rm --force --ignore --time 0 n",
		"podman ask":      "podman info --format rootless={{.Host.Security.Rootless}} v={{.Host.CgroupsVersion}} {{.Host.CgroupControllers}}",
		"/opt/docker has": "/opt/docker image inspect --format {{.Id}} a",
		"/opt/docker end": "/opt/docker rm --force n",
		"/opt/docker ask": "/opt/docker info --format {{.SecurityOptions}} memory={{.MemoryLimit}} cpu={{.CPUCfsQuota}} init={{.InitBinary}}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := parsed(t, "podman").Pull("docker://a"); !slices.Equal(got, []string{"podman", "pull", "--quiet", "a"}) {
		t.Error(got)
	}
}

// Podman without root's rights is asked how a container ended.
func TestEnded(t *testing.T) {
	r := parsed(t, "podman")
	if !r.Lies(Means{Rootless: true}) || r.Lies(Means{}) || parsed(t, "docker").Lies(Means{Rootless: true}) {
		t.Error("podman without root's rights alone says 0 when it is sent a signal")
	}
	if got := strings.Join(r.Signal("n"), " ") + ", " + strings.Join(r.Ended("n"), " "); got !=
		"podman kill --signal=TERM n, podman container inspect --format {{.State.Status}} {{.State.ExitCode}} n" {
		t.Error(got)
	}
	for output, want := range map[string]string{"exited 143\n": "143 true", "stopped 0\n": "0 true", "running 0\n": "0 false", "created 0\n": "0 false", "": "0 false", "exited x": "0 false"} {
		if code, ok := r.EndedOf(output); fmt.Sprint(code, ok) != want {
			t.Errorf("%q: %d %t", output, code, ok)
		}
	}
}

// Why a runtime ended a job is in what it wrote; a command with the same exit code is not it.
func TestRefusal(t *testing.T) {
	for errs, c := range map[string]struct {
		text string
		code int
		want string
	}{
		"job said\nError: crun: executable file `nope` not found in $PATH: No such file or directory\n": {"podman", 127, "crun: executable file `nope` not found in $PATH: No such file or directory"},
		"docker: Error response from daemon: no such image: x.\nSee 'docker run --help'.\n":             {"docker", 125, "Error response from daemon: no such image: x."},
		"FATAL:   Unable to handle docker://x uri\n":                                                    {"apptainer", 255, "Unable to handle docker://x uri"},
		"ERROR (catatonit:6): failed to exec pid1: No such file or directory\n":                         {"podman", 1, "6): failed to exec pid1: No such file or directory"},
		"ERROR (catatonit:6): failed\nlast words of the job\n":                                          {"podman", 1, ""},
		"[FATAL tini (7)] exec nope failed: No such file or directory\n":                                {"docker", 127, "(7)] exec nope failed: No such file or directory"},
		"Error: of the job\n":              {"podman", 1, ""},
		"no reason":                        {"podman", 125, ""},
		"FATAL: of a command of one's own": {"x {{.Image}} {{.Command}}", 255, ""},
	} {
		if got := parsed(t, c.text).Refusal(c.code, errs); got != c.want {
			t.Errorf("%q: %q, want %q", errs, got, c.want)
		}
	}
	for output, want := range map[string]string{"Trying…\nError: initializing source docker://x: denied\n": "initializing source docker://x: denied", "": ""} {
		if got := LastWords(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

// The values of variables are in the arguments only where the client needs the name for itself.
func TestValuesAreHidden(t *testing.T) {
	j := example()
	j.Env = map[string]string{"API_KEY": "secret-1", "GITHUB_TOKEN": "secret-2", "DIVVY_X": "secret-3"}
	for _, kind := range kinds {
		call, err := parsed(t, kind).Run(j, Means{}, map[string]string{"HOME": "/root"})
		if err != nil || strings.Contains(strings.Join(call.Args, " "), "secret") || len(call.Env) != len(j.Env) {
			t.Errorf("%s: %q %v %v", kind, call.Args, slices.Sorted(maps.Keys(call.Env)), err)
		}
	}
}
