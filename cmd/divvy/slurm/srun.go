package slurm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/divvyhq/divvy/internal/slurm"
)

// srun runs a program: inside of a job beside it, else as a job of its own.
func srun(ctx context.Context, c *command) error {
	if len(c.given.Args) == 0 {
		return &slurm.UsageError{Command: c.name, Text: "fatal: No command given to execute."}
	}
	if os.Getenv("SLURM_JOB_ID") == "" {
		return c.remote(ctx)
	}
	s, err := newStep(c)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// step is a program that runs in a job, once for each task.
type step struct {
	c     *command
	j     slurm.Job
	tasks int
	path  string

	mu sync.Mutex // of the streams
}

func newStep(c *command) (*step, error) {
	g := c.given
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s := &step{c: c, tasks: 1}
	if s.j, err = slurm.NewJob(g, dir); err != nil {
		return nil, err
	}
	if s.tasks = s.j.Needs.Tasks; !s.j.Needs.SaidTasks {
		if n, err := strconv.Atoi(os.Getenv("SLURM_NTASKS")); err == nil && n > 0 {
			s.tasks = n
		}
	}
	if s.path, err = exec.LookPath(g.Args[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		c.complain("execve(): %s: No such file or directory", g.Args[0])
		return nil, exit(2)
	}
	if s.path, err = filepath.Abs(s.path); err != nil {
		return nil, err
	}
	return s, nil
}

// plain says that the program may take the place of srun: there is one of it, and nothing to do beside it.
func (s *step) plain() bool {
	g := s.c.given
	return s.tasks == 1 && !g.Has("label") && !g.Has("output") && !g.Has("error") && !g.Has("input") && os.Getenv("DIVVY_SLURM_SIGNAL") == "" && s.c.Out == io.Writer(os.Stdout)
}

func (s *step) run(ctx context.Context) error {
	if s.plain() {
		if err := os.Chdir(s.j.Files.Dir); err != nil {
			return err
		}
		return syscall.Exec(s.path, s.c.given.Args, s.environment(0)) //nolint:gosec // what the user runs
	}
	codes := make([]int, s.tasks)
	errs := make([]error, s.tasks)
	var all sync.WaitGroup
	for i := range s.tasks {
		all.Go(func() { codes[i], errs[i] = s.task(ctx, i) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	worst := 0
	for _, code := range codes {
		worst = max(worst, code)
	}
	if worst == 0 {
		return nil
	}
	return exit(worst)
}

// environment is that of a task.
func (s *step) environment(task int) []string {
	env := os.Environ()
	for name, value := range map[string]string{
		"SLURM_PROCID": strconv.Itoa(task), "SLURM_LOCALID": strconv.Itoa(task), "SLURM_NTASKS": strconv.Itoa(s.tasks), "SLURM_NPROCS": strconv.Itoa(s.tasks), "SLURM_STEP_ID": "0", "SLURM_STEPID": "0",
		"SLURM_STEP_NUM_TASKS": strconv.Itoa(s.tasks), "SLURM_STEP_TASKS_PER_NODE": strconv.Itoa(s.tasks), "SLURM_STEP_NUM_NODES": "1", "SLURM_NODEID": "0"} {
		env = append(env, name+"="+value)
	}
	if s.j.Needs.SaidCPUs {
		env = append(env, "SLURM_CPUS_PER_TASK="+strconv.Itoa(s.j.Needs.CPUs))
	}
	return env
}

// task runs the program once, and returns its exit code.
func (s *step) task(ctx context.Context, i int) (int, error) {
	cmd := exec.Command(s.path, s.c.given.Args[1:]...) //nolint:gosec,noctx // what the user runs; signals are forwarded below
	cmd.Args[0], cmd.Dir, cmd.Env = s.c.given.Args[0], s.j.Files.Dir, s.environment(i)
	if i == 0 {
		cmd.Stdin = s.c.In
	}
	done, err := s.streams(cmd, i)
	if err != nil {
		return 1, err
	}
	defer done()
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { s.signals(ctx, cmd.Process, over) })
	err = cmd.Wait()
	close(over)
	watch.Wait()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &ended):
		return 1, err
	}
	if ws, ok := ended.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return ended.ExitCode(), nil
}

// signals sends the program the signals that srun gets, and that of --signal before the time limit.
func (s *step) signals(ctx context.Context, p *os.Process, over <-chan struct{}) {
	got := make(chan os.Signal, 8)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGCONT)
	defer signal.Stop(got)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var before syscall.Signal
	if at, sig := signalAt(); sig != 0 {
		before = sig
		timer.Reset(max(0, time.Until(at)))
	}
	stop := ctx.Done()
	for {
		select {
		case sig := <-got:
			_ = p.Signal(sig)
		case <-timer.C:
			_ = p.Signal(before)
		case <-stop:
			_ = p.Signal(syscall.SIGTERM)
			stop = nil
		case <-over:
			return
		}
	}
}

// signalAt is when the job's --signal is due, and which one; none = 0.
func signalAt() (time.Time, syscall.Signal) {
	end, err := strconv.ParseInt(os.Getenv("SLURM_JOB_END_TIME"), 10, 64)
	s, err2 := slurm.ParseSignal(os.Getenv("DIVVY_SLURM_SIGNAL"))
	if err != nil || err2 != nil {
		return time.Time{}, 0
	}
	sig := unix.SignalNum("SIG" + s.Name)
	if n, err := strconv.Atoi(s.Name); err == nil {
		sig = syscall.Signal(n)
	}
	return time.Unix(end-s.Seconds, 0), sig
}

// streams gives the program its output: files, ours with labels, or ours.
func (s *step) streams(cmd *exec.Cmd, task int) (done func(), err error) {
	var files []*os.File
	done = func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	name := func(pattern string) string { return s.file(pattern, task) }
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if s.j.Files.Append {
		mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	open := func(pattern string) (*os.File, error) {
		f, err := os.OpenFile(name(pattern), mode, 0o666) //nolint:gosec // the umask decides
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	cmd.Stdout, cmd.Stderr = s.c.Out, s.c.Err
	if s.c.given.Has("label") {
		out, errs := &labelled{to: s.c.Out, mu: &s.mu, task: task}, &labelled{to: s.c.Err, mu: &s.mu, task: task}
		cmd.Stdout, cmd.Stderr = out, errs
		closeFiles := done
		done = func() { out.flush(); errs.flush(); closeFiles() }
	}
	if s.c.given.Has("output") {
		f, err := open(s.j.Files.Output)
		if err != nil {
			return done, err
		}
		cmd.Stdout = f
		if !s.c.given.Has("error") {
			cmd.Stderr = f
		}
	}
	if s.c.given.Has("error") {
		f, err := open(s.j.Files.Error)
		if err != nil {
			return done, err
		}
		cmd.Stderr = f
	}
	if in := s.j.Files.Input; in != "" && task == 0 {
		f, err := os.Open(name(in))
		if err != nil {
			return done, err
		}
		files = append(files, f)
		cmd.Stdin = f
	}
	return done, nil
}

// file is the name of a file of a task.
func (s *step) file(pattern string, task int) string {
	file := slurm.Expand(pattern, func(letter byte) string {
		switch letter {
		case 'A':
			if v := os.Getenv("SLURM_ARRAY_JOB_ID"); v != "" {
				return v
			}
			return os.Getenv("SLURM_JOB_ID")
		case 'a':
			return os.Getenv("SLURM_ARRAY_TASK_ID")
		case 'x':
			return os.Getenv("SLURM_JOB_NAME")
		case 'u':
			return os.Getenv("SLURM_JOB_USER")
		case 'N':
			return os.Getenv("SLURMD_NODENAME")
		case 't':
			return strconv.Itoa(task)
		case 'n', 's':
			return "0"
		case 'J':
			return os.Getenv("SLURM_JOB_ID") + ".0"
		}
		return os.Getenv("SLURM_JOB_ID")
	})
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.j.Files.Dir, file)
	}
	return file
}

// labelled puts the number of a task before each line.
type labelled struct {
	to   io.Writer
	mu   *sync.Mutex
	task int
	rest []byte
}

func (l *labelled) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		l.line(l.rest[:i])
		l.rest = l.rest[i+1:]
	}
}

func (l *labelled) line(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.to, "%d: %s\n", l.task, text)
}

func (l *labelled) flush() {
	if len(l.rest) > 0 {
		l.line(l.rest)
		l.rest = nil
	}
}

// remote runs the program as a job, and prints what it printed when it is over.
func (c *command) remote(ctx context.Context) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	j, err := slurm.NewJob(c.given, dir)
	if err != nil {
		return err
	}
	if j.Name == "" {
		j.Name = filepath.Base(c.given.Args[0])
	}
	if !c.given.Has("output") {
		j.Files.Output = ""
	}
	j.Script, j.Args, j.Umask = "#!/bin/sh\nexec \"$@\"\n", c.given.Args, umask()
	id, err := c.submit(ctx, j)
	if err != nil {
		return fmt.Errorf("Unable to allocate resources: %w", err)
	}
	ended := c.await(ctx, id)
	if j.Files.Output != "" {
		return ended
	}
	jobs, err := c.jobs(context.WithoutCancel(ctx), id, false)
	if err != nil || len(jobs) == 0 {
		return errors.Join(ended, err)
	}
	log, err := c.client.Jobs().Log(context.WithoutCancel(ctx), jobs[len(jobs)-1].ID, 0)
	if err != nil {
		return errors.Join(ended, err)
	}
	c.print(log.Tail)
	return ended
}

// print writes the log of a job to the two streams that it came from.
func (c *command) print(tail string) {
	to := c.Out
	for lines := bufio.NewScanner(strings.NewReader(tail)); lines.Scan(); {
		switch text := lines.Text(); text {
		case "--- stdout":
			to = c.Out
		case "--- stderr", "--- pilot":
			to = c.Err
		default:
			fmt.Fprintln(to, text)
		}
	}
}
