package container

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Job is a command to be run in a container.
type Job struct {
	Name     string // of the container
	Image    string
	Command  []string
	Dir      string            // that it runs in: an absolute path
	Work     string            // folder of the job's own
	Binds    []Bind            // of which Dir and Work are in one
	Env      map[string]string // of the command
	Cores    int               // 0: no bound
	MemoryMB int64             // 0: no bound
	UID, GID int
	Groups   []int // further ones
}

// Bind is a path that the container sees where it is.
type Bind struct {
	Path     string
	ReadOnly bool
}

// Call is a command line for the client of a runtime.
type Call struct {
	Args []string
	Env  map[string]string // over that of the client
}

// leastMemory is the least that docker takes, in bytes.
const leastMemory = 6 << 20

// Run is the call that runs a job and ends with its exit code. client has the environment that the client has.
func (r Runtime) Run(j Job, m Means, client map[string]string) (c Call, err error) {
	if err := j.check(); err != nil {
		return c, err
	}
	switch r.kind {
	case podman, docker:
		c.Args, c.Env, err = r.engine(j, m, client)
	case apptainer:
		c.Args, c.Env, err = r.apptainer(j)
	default:
		c.Args, c.Env = r.filled(j), j.Env
	}
	return c, err
}

func (j *Job) check() error {
	switch {
	case len(j.Command) == 0 || j.Command[0] == "":
		return errors.New("empty command")
	case j.Image == "" || strings.HasPrefix(j.Image, "-") || strings.ContainsAny(j.Image, " \t\n"):
		return fmt.Errorf("%q is not the name of an image", j.Image)
	}
	return nil
}

// engine is the call of podman and docker, whose options are the same where they are used here.
func (r Runtime) engine(j Job, m Means, client map[string]string) (args []string, env map[string]string, err error) {
	args = []string{r.Program(), "run", "--rm", "--name", j.Name, "--pull=never", "--network=host", "--log-driver=none",
		"--security-opt=label=disable", "--entrypoint=", "--workdir", j.Dir}
	if r.Lies(m) {
		args = slices.Delete(args, 2, 3) // how it ended is asked before End removes it
	}
	user := fmt.Sprintf("%d:%d", j.UID, j.GID)
	switch {
	case r.kind == podman && m.Rootless:
		args = append(args, "--userns=keep-id")
	case m.Rootless: // of docker: root in the container is the user outside
		user = "0:0"
	}
	args = append(args, "--user", user)
	if r.kind == docker && !m.Rootless {
		for _, g := range j.Groups {
			args = append(args, "--group-add", strconv.Itoa(g))
		}
	}
	if m.Init {
		args = append(args, "--init")
	}
	if m.Limits && j.MemoryMB > 0 {
		args = append(args, "--memory", fmt.Sprintf("%db", max(j.MemoryMB*1_100_000, leastMemory))) // a tenth more: below, the pilot asks it to end
	}
	if m.Limits && j.Cores > 0 && j.Cores < m.CPUs {
		args = append(args, "--cpus", strconv.Itoa(j.Cores))
	}
	if args, err = j.mounts(args, volume); err != nil {
		return nil, nil, err
	}
	env = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(j.Env)) {
		if _, needed := client[name]; needed || steers(name) {
			args = append(args, "--env", name+"="+j.Env[name])
			continue
		}
		args = append(args, "--env", name)
		env[name] = j.Env[name]
	}
	args = append(args, r.own()...)
	return append(append(args, bare(j.Image)), j.Command...), env, nil
}

// steering begins the names of variables by which clients, and the libraries below them, are steered. A name with * would be a pattern.
var steering = []string{"PATH", "HOME", "TMPDIR", "LD_", "GODEBUG", "GOGC", "GOM", "GOTRACEBACK", "SSL_", "XDG_", "DBUS_", "CONTAINER", "_CONTAINERS", "PODMAN", "_PODMAN", "DOCKER", "BUILDAH", "STORAGE_",
	"REGISTRY_", "NETAVARK", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NOTIFY_", "LISTEN_"}

func steers(name string) bool {
	return strings.Contains(name, "*") || slices.ContainsFunc(steering, func(s string) bool { return strings.HasPrefix(strings.ToUpper(name), s) })
}

// apptainer is its call. It gives the command the variables whose names begin with APPTAINERENV_, and HOME by an option.
func (r Runtime) apptainer(j Job) (args []string, env map[string]string, err error) {
	home := j.Env["HOME"]
	if home == "" {
		home = j.Work
	}
	if strings.Contains(home, ":") {
		return nil, nil, fmt.Errorf("apptainer takes no home folder with a colon: %q", home)
	}
	args = []string{r.Program(), "exec", "--cleanenv", "--home", home, "--pwd", j.Dir}
	if args, err = j.mounts(args, mount); err != nil {
		return nil, nil, err
	}
	env = map[string]string{}
	for name, value := range j.Env {
		if name != "HOME" {
			env["APPTAINERENV_"+name] = value
		}
	}
	image := j.Image
	if !strings.Contains(image, "://") && !strings.HasPrefix(image, "/") {
		image = "docker://" + image
	}
	return append(append(append(args, r.own()...), image), j.Command...), env, nil
}

// mounts adds the folders and files that are bound, those above others first.
func (j *Job) mounts(args []string, option func(Bind) ([]string, error)) ([]string, error) {
	binds := slices.Clone(j.Binds)
	slices.SortStableFunc(binds, func(a, b Bind) int { return strings.Compare(a.Path, b.Path) })
	for i, b := range binds {
		if i > 0 && b.Path == binds[i-1].Path { // the first of the same path counts: folders of the job come before inputs
			continue
		}
		words, err := option(b)
		if err != nil {
			return nil, err
		}
		args = append(args, words...)
	}
	return args, nil
}

// mount is a line of comma-separated values.
func mount(b Bind) ([]string, error) {
	if strings.ContainsAny(b.Path, "\n\r") {
		return nil, fmt.Errorf("a path with a line break cannot be bound: %q", b.Path)
	}
	field := func(text string) string {
		if !strings.ContainsAny(text, ",\"") {
			return text
		}
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	line := "type=bind," + field("source="+b.Path) + "," + field("destination="+b.Path)
	if b.ReadOnly {
		line += ",ro"
	}
	return []string{"--mount", line}, nil
}

// volume is mount for podman and docker, of which not all quote: a path with a comma goes between colons.
func volume(b Bind) ([]string, error) {
	switch {
	case !strings.ContainsAny(b.Path, ",\""):
		return mount(b)
	case strings.Contains(b.Path, ":"):
		return nil, fmt.Errorf("a path with both a comma and a colon cannot be bound: %q", b.Path)
	}
	option := b.Path + ":" + b.Path
	if b.ReadOnly {
		option += ":ro"
	}
	return []string{"--volume", option}, nil
}

// filled is the command of the site's own.
func (r Runtime) filled(j Job) (args []string) {
	values := strings.NewReplacer("{{.Image}}", j.Image, "{{.Name}}", j.Name, "{{.Dir}}", j.Dir, "{{.Work}}", j.Work,
		"{{.Cores}}", strconv.Itoa(j.Cores), "{{.MemoryMB}}", strconv.FormatInt(j.MemoryMB, 10))
	for _, w := range r.words {
		if w == "{{.Command}}" {
			args = append(args, j.Command...)
			continue
		}
		args = append(args, values.Replace(w))
	}
	return args
}

// bare is a name as podman and docker both take it.
func bare(image string) string { return strings.TrimPrefix(image, "docker://") }
