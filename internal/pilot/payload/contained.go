package payload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/divvyhq/divvy/internal/pilot/container"
)

// How long calls of a runtime may take. A pull is of a large image over a slow line.
const (
	askWithin  = time.Minute
	pullWithin = time.Hour
	endWithin  = time.Minute
	clientEnds = 5 * time.Second // after its container
)

// exitRuntime is the exit code of a job whose runtime could not start its container, as podman and docker have it.
const exitRuntime = 125

// mostBinds bounds the inputs that are bound one by one; of more their folders are.
const mostBinds = 100

// contained is the container of a job.
type contained struct {
	runtime container.Runtime
	program string            // of the runtime: its path
	client  map[string]string // environment of the runtime's client
	as      *syscall.Credential
	end     []string // kills and removes the container; nil: it is of the process group
	name    string
	lies    bool // see container.Runtime.Lies
}

// asked is what runtimes said of themselves, by what the site file says under containers.
type asked struct {
	sync.Mutex
	means map[string]container.Means
}

// refusal is why a container cannot be started.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// contain makes ready for the container of a job: the runtime is asked what it can do here, and the image is fetched. It returns the
// path, the arguments and the environment of the process that runs the command in it.
func (h *Host) contain(j *Job) (path string, args, env []string, err error) {
	l := &j.lease
	refused := func(format string, args ...any) error {
		return &refusal{fmt.Sprintf("image %s: ", l.Image) + fmt.Sprintf(format, args...)}
	}
	if l.Containers == "" {
		return "", nil, nil, refused("queue %s runs no containers any more: the site file says how, under containers", h.owner.Queue)
	}
	c := &contained{client: h.clientEnvironment(), as: h.files.user.credential()}
	if c.runtime, err = container.Parse(l.Containers); err != nil {
		return "", nil, nil, refused("containers of queue %s: %v", h.owner.Queue, err)
	}
	name := c.runtime.Program()
	if c.program, err = lookPath(name, "/", lines(c.client)); err != nil {
		return "", nil, nil, refused("%s is not on this machine: install it, or name another runtime in containers of queue %s", name, h.owner.Queue)
	}
	box := h.box(j)
	c.end, c.name = c.runtime.End(box.Name), box.Name
	j.container = c
	means, err := h.means(j)
	if err != nil {
		return "", nil, nil, refused("%s cannot be used: %v", name, err)
	}
	c.lies = c.runtime.Lies(means)
	if err := h.fetch(j); err != nil {
		return "", nil, nil, refused("%s cannot fetch it: %v; '%s' has to succeed on this machine", name, err, strings.Join(c.runtime.Pull(l.Image), " "))
	}
	call, err := c.runtime.Run(box, means, c.client)
	if err != nil {
		return "", nil, nil, refused("%v", err)
	}
	all := maps.Clone(c.client)
	maps.Copy(all, call.Env)
	if !c.runtime.Outside() {
		all["DIVVY_JOB"] = box.Env["DIVVY_JOB"] // tells what is left of the job from what is left of others
	}
	return c.program, call.Args, lines(all), nil
}

// box is what the runtime is told of a job.
func (h *Host) box(j *Job) container.Job {
	l := &j.lease
	own := filepath.Join(j.dir, workName)
	b := container.Job{Name: fmt.Sprintf("divvy-%d-%d-%s", l.Job, l.Attempt, strings.ToLower(h.mark[:min(8, len(h.mark))])), Image: l.Image, Command: l.Command,
		Dir: j.cwd(), Work: own, Env: map[string]string{"HOME": own}, Cores: max(1, l.Cores), MemoryMB: l.MemoryMB, UID: os.Geteuid(), GID: os.Getegid()}
	set(b.Env, h.variables(j))
	b.Groups, _ = os.Getgroups()
	if cred := h.files.user.credential(); cred != nil {
		b.UID, b.GID, b.Groups = int(cred.Uid), int(cred.Gid), nil
		for _, g := range cred.Groups {
			b.Groups = append(b.Groups, int(g))
		}
	}
	b.Binds = append(b.Binds, container.Bind{Path: j.dir})
	if l.Dir != "" {
		b.Binds = append(b.Binds, container.Bind{Path: filepath.Clean(l.Dir)})
	}
	for _, path := range inputPaths(b.Env["DIVVY_INPUTS"]) {
		b.Binds = append(b.Binds, container.Bind{Path: path, ReadOnly: true})
	}
	return b
}

// inputPaths are the inputs of a job that are files or folders here, or the folders of very many.
func inputPaths(inputs string) (paths []string) {
	for line := range strings.SplitSeq(inputs, "\n") {
		if filepath.IsAbs(line) {
			if _, err := os.Stat(line); err == nil {
				paths = append(paths, filepath.Clean(line))
			}
		}
	}
	if len(paths) > mostBinds {
		for i, p := range paths {
			paths[i] = filepath.Dir(p)
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(p string) bool { return p == "/" })
}

// clientEnvironment is that of the runtime's own processes: the pilot's, without what is divvy's, as the user has it that jobs run as.
// Of a job's variables it has none: they could steer it.
func (h *Host) clientEnvironment() map[string]string {
	env := map[string]string{}
	set(env, withoutOurs(os.Environ()))
	if cred := h.files.user.credential(); cred != nil {
		for name := range env {
			if strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "DBUS_") {
				delete(env, name)
			}
		}
		if dir := fmt.Sprintf("/run/user/%d", cred.Uid); usable(dir) == nil {
			env["XDG_RUNTIME_DIR"] = dir
		}
	}
	set(env, h.files.user.variables())
	env[runVariable] = h.mark // and not DIVVY_JOB: what a runtime leaves running serves all jobs
	return env
}

func set(env map[string]string, lines []string) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
}

func lines(env map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// means is what the runtime can do on this machine. It is asked once, and said in the log.
func (h *Host) means(j *Job) (container.Means, error) {
	c := j.container
	h.asked.Lock()
	known, ok := h.asked.means[j.lease.Containers]
	h.asked.Unlock()
	if ok {
		return known, nil
	}
	var m container.Means
	if ask := c.runtime.Ask(); ask != nil {
		out, err := h.call(j, ask, askWithin)
		if err != nil {
			return m, err
		}
		m = c.runtime.MeansOf(out, hasInit, runtime.NumCPU())
	}
	h.asked.Lock()
	defer h.asked.Unlock()
	if _, ok := h.asked.means[j.lease.Containers]; ok { // by another job meanwhile
		return m, nil
	}
	h.asked.means[j.lease.Containers] = m
	log := h.owner.Log.With("runtime", c.runtime.Program())
	if c.runtime.Outside() && !m.Limits {
		log.Warn("containers are not held to their cores, and to their memory by measurement alone: the runtime has no cgroup with cpu and memory here")
	}
	if c.runtime.Outside() && !m.Init {
		log.Warn("containers have no init process: commands that do not handle SIGTERM are killed after the grace; install catatonit or tini")
	}
	return m, nil
}

// hasInit says whether the program that is to be the first process of containers is where runtimes look for it.
func hasInit(program string) bool {
	if filepath.IsAbs(program) {
		return executable(program) == nil
	}
	return slices.ContainsFunc([]string{"/usr/libexec/podman", "/usr/lib/podman", "/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/libexec/docker", "/usr/bin", "/usr/local/bin"},
		func(dir string) bool { return executable(filepath.Join(dir, program)) == nil })
}

// fetch sees to it that the image is on this machine.
func (h *Host) fetch(j *Job) error {
	c, image := j.container, j.lease.Image
	has := c.runtime.Has(image)
	if has == nil {
		return nil
	}
	if _, err := h.call(j, has, askWithin); err == nil {
		return nil
	}
	h.owner.Log.Info("fetching an image", "image", image, "job", j.lease.Job)
	_, err := h.call(j, c.runtime.Pull(image), pullWithin)
	return err
}

// call runs a call of the runtime to its end and returns what it wrote. An order to stop the job, which is still to start, ends it.
func (h *Host) call(j *Job, args []string, within time.Duration) (string, error) {
	return h.beside(j, args, within, j.wake)
}

// beside is call that heeds stop.
func (h *Host) beside(j *Job, args []string, within time.Duration, stop <-chan struct{}) (string, error) {
	c := j.container
	out, err := os.CreateTemp(j.dir, "runtime-")
	if err != nil {
		return "", err
	}
	defer func() { out.Close(); os.Remove(out.Name()) }()
	cmd := &exec.Cmd{Path: c.program, Args: args, Dir: "/", Env: lines(c.client), Stdout: out, Stderr: out, SysProcAttr: attributes(c.as)}
	proc, err := h.begin(j, cmd)
	if err != nil {
		return "", err
	}
	defer h.guard.remove(proc.pid)
	defer h.kin.over(proc.pid)
	limit := time.NewTimer(within)
	defer limit.Stop()
	why := error(nil)
	select {
	case <-proc.exited:
	case <-stop:
		why = errors.New("stopped")
	case <-limit.C:
		why = fmt.Errorf("it took more than %s", within)
	}
	if why != nil {
		proc.signal(syscall.SIGKILL)
		<-proc.exited
		return "", why
	}
	text, _ := tail(out)
	if code, how := ending(proc.cmd.ProcessState); code != 0 {
		return "", errors.New(cmp.Or(container.LastWords(string(text)), how))
	}
	return string(text), nil
}

// askToEnd sends SIGTERM to what is in the container of a job, as soon as there is one.
func (h *Host) askToEnd(j *Job, proc *process) {
	h.waits.Go(func() {
		for {
			if _, err := h.beside(j, j.container.runtime.Signal(j.container.name), endWithin, proc.exited); err == nil {
				return
			}
			select {
			case <-proc.exited:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// ended is how a job ended, by its first process; where that may not know that the job failed, by the runtime.
func (h *Host) ended(j *Job, s *os.ProcessState) (code int, how string) {
	code, how = ending(s)
	if code != 0 || j.container == nil || !j.container.lies {
		return code, how
	}
	out, _ := h.beside(j, j.container.runtime.Ended(j.container.name), endWithin, nil) // without a container there is no output
	if code, over := j.container.runtime.EndedOf(out); over {
		return code, fmt.Sprintf("exit code %d", code)
	}
	return 128 + int(syscall.SIGKILL), fmt.Sprintf("the client of %s ended before the container", j.container.runtime.Program())
}

// endContainer kills and removes the container of a job, if it has one that is not of its process group.
func (h *Host) endContainer(j *Job) {
	if j.container == nil || j.container.end == nil {
		return
	}
	defer h.guard.removeEnd(j)
	if _, err := h.beside(j, j.container.end, endWithin, nil); err != nil && !strings.Contains(err.Error(), "No such container") {
		h.owner.Log.Warn("a container may be left", "job", j.lease.Job, "command", strings.Join(j.container.end, " "), "error", err)
	}
}

// perhapsMemory is what the exit code of a container that was not told to end may mean.
func (j *Job) perhapsMemory(how string) string {
	if !j.outside() || how != "exit code 137" || j.lease.MemoryMB == 0 {
		return ""
	}
	return fmt.Sprintf("%s: SIGKILL, as at a memory limit: %d MB allowed", how, j.lease.MemoryMB)
}

// refusedBy is why the runtime did not run the command; "" if it did.
func (j *Job) refusedBy(code int) string {
	c := j.container
	if c == nil {
		return ""
	}
	errs, _ := tail(j.streams[1])
	why := c.runtime.Refusal(code, string(errs))
	if why == "" {
		return ""
	}
	return fmt.Sprintf("cannot start: image %s: %s: %s", j.lease.Image, c.runtime.Program(), why)
}
