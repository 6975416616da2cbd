package run

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// Ask is what a command line asks for.
type Ask struct {
	Name, User, Share string
	Slot
	Place
	Count             int64
	Array, Glob       string
	Priority, Retries int
	Env               []string
	EnvAll            bool
	After             []string

	first  int64    // number of the job with index 0,
	listed []string // or the numbers of all, by index
}

// Slot is what each job needs.
type Slot struct {
	Cores              int
	Memory, Disk, Time string
	Queues             []string
	Labels             map[string]string
}

// Place is where jobs run and write.
type Place struct {
	Image          string
	Dir            string
	OwnFolder      bool
	Stdout, Stderr string
}

// IndexVar is the variable that has the number of a job.
const IndexVar = "DIVVY_INDEX"

// Spec is the task. The error is a usage error that names the flag.
func (a *Ask) Spec(command []string) (s wire.TaskSpec, err error) {
	if len(command) == 0 || command[0] == "" {
		return s, fail.Hintf(fail.Usagef("no command"), "Write it behind the flags: divvy run -n 3 -- ./script {{.Index}}")
	}
	s = wire.TaskSpec{Name: cmp.Or(a.Name, filepath.Base(command[0])), User: cmp.Or(a.User, login()), Share: a.Share, Queues: a.Queues, Priority: a.Priority,
		Command: slices.Clone(command), Image: a.Image, Stdout: a.Stdout, Stderr: a.Stderr}
	for _, step := range []func(*wire.TaskSpec) error{a.requirements, a.attempts, a.environment, a.paths, a.needs, a.work} {
		if err := step(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func login() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "unknown")
}

func (a *Ask) requirements(s *wire.TaskSpec) (err error) {
	r := &s.Requirements
	r.Cores, r.Labels = a.Cores, a.Labels
	if a.Cores < 1 {
		return fail.Usagef("--cores %d: expected 1 or more", a.Cores)
	}
	if r.MemoryMB, err = megabytes("--memory", a.Memory); err != nil {
		return err
	}
	if r.DiskMB, err = megabytes("--disk", a.Disk); err != nil {
		return err
	}
	if a.Time != "" {
		if d, err := strict.ParseDuration(a.Time); err != nil || d.Seconds() < 1 {
			return fail.Usagef("--time %s: expected a time such as 90s, 2h or 1d12h", a.Time)
		}
		r.Walltime = a.Time
	}
	return nil
}

// megabytes reads an amount such as 500m or 4g, in powers of ten; without a unit it is in MB.
func megabytes(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	units := map[string]float64{"": 1, "m": 1, "mb": 1, "g": 1000, "gb": 1000, "t": 1e6, "tb": 1e6}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, known := units[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseFloat(digits, 64)
	if !known || err != nil || n <= 0 || n*unit > 1e9 {
		return 0, fail.Usagef("%s %s: expected an amount such as 500m, 4g or 2.5g", flag, text)
	}
	return max(int64(n*unit), 1), nil
}

// attempts: a job that fails is not tried again unless --retries says so; one whose pilot was lost is.
func (a *Ask) attempts(s *wire.TaskSpec) error {
	if a.Retries < 0 || a.Retries > 90 {
		return fail.Usagef("--retries %d: expected 0 to 90", a.Retries)
	}
	s.MaxFailures, s.MaxAttempts = a.Retries+1, a.Retries+3
	return nil
}

// work says which jobs there are.
func (a *Ask) work(s *wire.TaskSpec) error {
	var given []string
	for flag, is := range map[string]bool{"-n": a.Count != 0, "--array": a.Array != "", "--input-glob": a.Glob != ""} {
		if is {
			given = append(given, flag)
		}
	}
	slices.Sort(given)
	s.Env[IndexVar] = "{{.Index}}"
	switch {
	case len(given) > 1:
		return fail.Usagef("%s: one of -n, --array and --input-glob says how many jobs there are", strings.Join(given, " with "))
	case a.Count < 0:
		return fail.Usagef("-n %d: expected 1 or more", a.Count)
	case a.Array != "":
		return a.array(s)
	case a.Glob != "":
		return a.glob(s)
	}
	s.Count = max(a.Count, 1)
	return nil
}

// glob has a job for each file, by its absolute path: the job may run in another folder.
func (a *Ask) glob(s *wire.TaskSpec) error {
	found, err := filepath.Glob(a.Glob)
	if err != nil {
		return fail.Usagef("--input-glob %s: expected a glob such as 'data/*.txt'", a.Glob)
	}
	if len(found) == 0 {
		return fail.Usagef("--input-glob %s: no file matches; quote the glob, and see whether it is right for the folder that you are in", a.Glob)
	}
	for _, file := range found {
		abs, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		s.Inputs = append(s.Inputs, wire.Input{Name: abs})
	}
	return nil
}

// paths: jobs run in the folder of the person, unless they are to have their own.
func (a *Ask) paths(s *wire.TaskSpec) (err error) {
	if !a.OwnFolder {
		if s.Dir, err = absolute(cmp.Or(a.Dir, ".")); err != nil {
			return err
		}
	} else if a.Dir != "" {
		return fail.Usagef("--dir with --own-folder: one of them says where jobs run")
	}
	for _, f := range []*string{&s.Stdout, &s.Stderr} {
		if *f != "" {
			if *f, err = absolute(*f); err != nil {
				return err
			}
		}
	}
	return nil
}

// absolute puts the folder that we are in before a path, whose text is a template.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the folder that you are in: %w", err)
	}
	return filepath.Join(job.Literal(here), path), nil
}

// needs are tasks that have to be over before: 17 or 17:any.
func (a *Ask) needs(s *wire.TaskSpec) error {
	for _, text := range a.After {
		number, when, _ := strings.Cut(text, ":")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 || !slices.Contains([]string{"", "done", "finished", "any"}, when) {
			return fail.Usagef("--after %s: expected the id of a task, such as 17, 17:finished or 17:any", text)
		}
		s.Needs = append(s.Needs, wire.Need{Task: id, When: when})
	}
	return nil
}
