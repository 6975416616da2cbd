package payload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// outputsVariable names the file for the outputs of a job. No other job has the same one: in a container it tells whose process it is.
const outputsVariable = "DIVVY_OUTPUTS"

// usualPath is searched if PATH is not set.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// environment is the pilot's own, without its DIVVY_ variables (one of them is the token), under that of the
// lease, under what this pilot knows. exec takes the last of two that are the same.
func (h *Host) environment(j *Job) []string {
	env := withoutOurs(os.Environ())
	if h.files != nil {
		env = append(env, h.files.user.variables()...)
	}
	return append(env, h.variables(j)...)
}

// variables are those of the job, which it also has in a container.
func (h *Host) variables(j *Job) (env []string) {
	set := func(name, value string) { env = append(env, name+"="+value) }
	set("PWD", j.cwd())
	set("TMPDIR", filepath.Join(j.dir, tmpName))
	for name, value := range j.lease.Env {
		set(name, value)
	}
	l := &j.lease
	set("DIVVY_JOB", strconv.FormatInt(l.Job, 10))
	set("DIVVY_ATTEMPT", strconv.Itoa(l.Attempt))
	set("DIVVY_TASK", strconv.FormatInt(l.Task, 10))
	set("DIVVY_SHARE", l.Share)
	set("DIVVY_QUEUE", h.owner.Queue)
	set("DIVVY_PILOT", h.owner.Name)
	set(runVariable, h.mark)
	set("DIVVY_CORES", strconv.Itoa(max(1, l.Cores)))
	set("DIVVY_MEMORY_MB", strconv.FormatInt(l.MemoryMB, 10))
	set("DIVVY_DISK_MB", strconv.FormatInt(l.DiskMB, 10))
	set("DIVVY_WALLTIME_S", strconv.FormatInt(l.WalltimeS, 10))
	set("DIVVY_STARTED", strconv.FormatInt(time.Now().Unix(), 10))
	set("DIVVY_WORK", filepath.Join(j.dir, workName))
	set(outputsVariable, filepath.Join(j.dir, outputsName))
	return env
}

// withoutOurs leaves out the variables that are divvy's.
func withoutOurs(env []string) []string {
	return slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "DIVVY_") })
}

// lookPath finds a command as a shell in folder dir with this environment would. The job's PATH counts, not
// the pilot's.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	path := usualPath
	for _, s := range env {
		if v, ok := strings.CutPrefix(s, "PATH="); ok {
			path = v
		}
	}
	found := error(&exec.Error{Name: name, Err: exec.ErrNotFound})
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		file := filepath.Join(d, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = err
		}
	}
	return "", found
}

func executable(file string) error {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s: %w", file, syscall.EISDIR)
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("%s: %w", file, fs.ErrPermission)
	}
	return nil
}
