package pilot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	wire "github.com/divvyhq/divvy/api/client"
)

// Exit codes of a job whose command could not be started, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// execute runs a lease to its end and says how it ended.
func (p *pilot) execute(r *run) wire.Result {
	res := wire.Result{Lease: r.lease.Lease, Outcome: failed}
	if s, _ := r.ordered(); s != nil {
		res.Outcome, res.Message = s.outcome, clip(s.why+"; not started")
		return res
	}
	dir, err := p.files.make(r.lease)
	if err != nil {
		res.Message = clip("cannot make the work folder: " + err.Error())
		return res
	}
	r.dir = dir
	proc, err := p.launch(r)
	if err != nil {
		code := exitNotExecutable
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			code = exitNotFound
		}
		res.ExitCode, res.Message = &code, clip("cannot start: "+err.Error())
		return res
	}
	defer p.guard.remove(proc.pid)
	r.pid = proc.pid
	r.started()
	p.meter.add(proc.pid, r)
	stopped := r.supervise(proc)
	p.kin.over(proc.pid)
	p.meter.remove(proc.pid)
	r.account(proc.cmd.ProcessState)
	r.conclude(&res, proc.cmd.ProcessState, stopped)
	return res
}

// launch starts the command in its work folder, with its output in files: whoever inherits them cannot hold
// the pilot up, as with pipes.
func (p *pilot) launch(r *run) (*process, error) {
	if len(r.lease.Command) == 0 || r.lease.Command[0] == "" {
		return nil, fmt.Errorf("empty command: %w", exec.ErrNotFound)
	}
	work := filepath.Join(r.dir, workName)
	env := p.environment(r)
	path, err := lookPath(r.lease.Command[0], work, env)
	if err != nil {
		return nil, err
	}
	var files [2]*os.File
	for i, name := range []string{stdoutName, stderrName} {
		f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		files[i] = f
	}
	cmd := &exec.Cmd{
		Path: path, Args: r.lease.Command, Dir: work, Env: env, Stdout: files[0], Stderr: files[1],
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: p.files.user.credential()},
	}
	err = p.kin.start(r, func() (int, error) {
		if err := p.starter.start(cmd); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return nil, err
	}
	p.guard.add(cmd.Process.Pid)
	proc := &process{cmd: cmd, pid: cmd.Process.Pid, exited: make(chan struct{})}
	p.beside(proc.wait)
	return proc, nil
}

// supervise waits for the end of the process and sees to it that it comes in time. It returns the order that
// the process was signalled for, if there was one.
func (r *run) supervise(proc *process) (signalled *stop) {
	begun := time.Now()
	var wall <-chan time.Time
	if r.lease.WalltimeS > 0 {
		t := time.NewTimer(time.Duration(r.lease.WalltimeS) * time.Second)
		defer t.Stop()
		wall = t.C
	}
	kill := time.NewTimer(time.Hour)
	kill.Stop()
	defer kill.Stop()
	for {
		select {
		case <-proc.exited:
			return signalled
		case <-wall:
			r.order(stop{outcome: failed, grace: r.t.Grace, why: fmt.Sprintf("walltime limit: ran %.1f s, %d s allowed",
				time.Since(begun).Seconds(), r.lease.WalltimeS)})
		case <-r.wake:
			s, at := r.ordered()
			if signalled == nil && time.Until(at) > 0 {
				proc.signal(syscall.SIGTERM)
				proc.signal(syscall.SIGCONT) // a stopped process cannot end in peace
			}
			signalled = s
			kill.Reset(max(0, time.Until(at)))
		case <-kill.C:
			proc.signal(syscall.SIGKILL)
		}
	}
}

// account takes over what the kernel counted for the process and those it waited for. Its peak of memory starts
// at that of the pilot, from which the process was forked: only a higher one is the job's.
func (r *run) account(s *os.ProcessState) {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return
	}
	var own syscall.Rusage
	peak := int64(0)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil && u.Maxrss > own.Maxrss {
		peak = u.Maxrss * 1024
	}
	r.measured((s.UserTime() + s.SystemTime()).Seconds(), peak)
}

// conclude says how the process ended, and why if it was told to.
func (r *run) conclude(res *wire.Result, s *os.ProcessState, stopped *stop) {
	code, how := ending(s)
	res.ExitCode = &code
	res.Usage = r.used()
	res.LogTail = logTail(r.dir)
	switch {
	case stopped != nil:
		res.Outcome, res.Message = stopped.outcome, stopped.why+"; "+how
	case code != 0:
		res.Outcome, res.Message = failed, how
	default:
		res.Outcome = finished
	}
	outputs, n, err := readOutputs(filepath.Join(r.dir, outputsName))
	if err != nil && res.Outcome == finished {
		res.Outcome, res.Message = failed, "outputs: "+err.Error()
	}
	res.Outputs, r.outputBytes = outputs, n
	res.Message = clip(res.Message)
}

// ending is the exit code as shells have it, in words too.
func ending(s *os.ProcessState) (code int, how string) {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return s.ExitCode(), fmt.Sprintf("exit code %d", s.ExitCode())
	}
	name := unix.SignalName(ws.Signal())
	if name == "" {
		name = fmt.Sprint(int(ws.Signal()))
	}
	how = "killed by signal " + name
	if ws.CoreDump() {
		how += " (core dumped)"
	}
	return 128 + int(ws.Signal()), how
}

// tidy removes what the job left and makes ready for the next one, beside the loop: nobody waits for it.
func (p *pilot) tidy(r *run) {
	if r.pid != 0 {
		reapGroup(r.pid)
		p.kin.clear(r)
	}
	err := p.files.stock(p.cfg.Slots)
	if r.dir != "" {
		err = errors.Join(err, p.files.done(r.dir, p.cfg.KeepWork))
	}
	if err != nil {
		p.log.Warn("work folder", "job", r.lease.Job, "error", err)
	}
}
