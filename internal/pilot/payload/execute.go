package payload

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/divvyhq/divvy/api/wire"
)

// Exit codes of a job whose command could not be started, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// Run runs a job to its end and says how it ended, and how many bytes its log and outputs are.
func (h *Host) Run(j *Job) (res wire.Result, size int) {
	res = wire.Result{Lease: j.lease.Lease, Outcome: "failed"}
	if s, _ := j.ordered(); s != nil {
		res.Outcome, res.Message = s.Outcome, Clip(s.Why+"; not started")
		return res, 0
	}
	dir, err := h.files.make(j.lease)
	if err != nil {
		res.Message = Clip("cannot make the work folder: " + err.Error())
		return res, 0
	}
	j.dir = dir
	proc, err := h.launch(j)
	if err != nil {
		if s, _ := j.ordered(); s != nil {
			res.Outcome, res.Message = s.Outcome, Clip(s.Why+"; not started")
			return res, 0
		}
		code := exitNotExecutable
		var refused *refusal
		if errors.As(err, &refused) {
			code = exitRuntime
		} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			code = exitNotFound
		}
		res.ExitCode, res.Message = &code, Clip("cannot start: "+err.Error())
		return res, 0
	}
	defer h.guard.remove(proc.pid)
	j.pid = proc.pid
	j.started()
	h.meter.add(proc.pid, j)
	stopped := j.supervise(proc)
	h.kin.over(proc.pid)
	code, how := h.ended(j, proc.cmd.ProcessState)
	h.endContainer(j)
	h.meter.remove(proc.pid, j)
	if !j.outside() {
		j.account(proc.cmd.ProcessState)
	}
	defer h.guard.removeCgroup(j.cgroup)
	if h.cgroups.remove(j.cgroup) && stopped == nil {
		stopped = &Stop{Outcome: "failed", Why: fmt.Sprintf("memory limit: the kernel ended it, %d MB allowed", j.lease.MemoryMB)}
	}
	res.ExitCode = &code
	n := j.conclude(&res, how, stopped)
	return res, len(res.LogTail) + n
}

// launch starts the command with its output in files: processes that inherit them cannot hold the pilot up, as with pipes.
func (h *Host) launch(j *Job) (*process, error) {
	if len(j.lease.Command) == 0 || j.lease.Command[0] == "" {
		return nil, fmt.Errorf("empty command: %w", exec.ErrNotFound)
	}
	env := h.environment(j)
	path, err := h.prepare(j, env)
	args := j.lease.Command
	if err == nil && j.lease.Image != "" {
		path, args, env, err = h.contain(j)
	}
	if err != nil {
		return nil, err
	}
	l := &j.lease
	if !j.outside() {
		if j.cgroup, err = h.cgroups.make(filepath.Base(j.dir), l.Cores, l.MemoryMB); err != nil {
			return nil, fmt.Errorf("control group: %w", err)
		}
		h.guard.addCgroup(j.cgroup)
	}
	h.guard.addEnd(j)
	proc, err := h.begin(j, &exec.Cmd{
		Path: path, Args: args, Dir: j.cwd(), Env: env, Stdout: j.streams[0], Stderr: j.streams[1],
		SysProcAttr: inCgroup(attributes(h.files.user.credential()), j.cgroup),
	})
	if err != nil {
		h.guard.removeEnd(j)
		h.cgroups.remove(j.cgroup)
		h.guard.removeCgroup(j.cgroup)
		return nil, err
	}
	if j.outside() {
		proc.kill = func() { h.endContainer(j) }
		if j.container.lies {
			proc.ask = func() { h.askToEnd(j, proc) }
		}
	}
	return proc, nil
}

// begin starts a process of a job.
func (h *Host) begin(j *Job, cmd *exec.Cmd) (*process, error) {
	err := h.kin.start(j, func() (int, error) {
		if err := h.starter.start(cmd); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return nil, err
	}
	h.guard.add(cmd.Process.Pid)
	proc := &process{cmd: cmd, pid: cmd.Process.Pid, exited: make(chan struct{})}
	h.waits.Go(proc.wait)
	return proc, nil
}

// supervise waits for the end of the process and sees to it that it comes in time. It returns the order that
// the process was signalled for, if there was one.
func (j *Job) supervise(proc *process) (signalled *Stop) {
	begun := time.Now()
	var wall <-chan time.Time
	if j.lease.WalltimeS > 0 {
		t := time.NewTimer(time.Duration(j.lease.WalltimeS) * time.Second)
		defer t.Stop()
		wall = t.C
	}
	kill := time.NewTimer(time.Hour)
	kill.Stop()
	defer kill.Stop()
	killed := false
	for {
		select {
		case <-proc.exited:
			return signalled
		case <-wall:
			j.Stop(Stop{Outcome: "failed", Grace: j.timing.Grace, Why: fmt.Sprintf("walltime limit: ran %.1f s, %d s allowed",
				time.Since(begun).Seconds(), j.lease.WalltimeS)})
		case <-j.wake:
			s, at := j.ordered()
			if signalled == nil && time.Until(at) > 0 {
				proc.terminate()
			}
			signalled = s
			if !killed {
				kill.Reset(max(0, time.Until(at)))
			}
		case <-kill.C:
			if proc.kill != nil && !killed {
				proc.kill()
				killed = true
				kill.Reset(clientEnds) // the client says how the container ended
				continue
			}
			proc.signal(syscall.SIGKILL)
		}
	}
}

// account takes over what the kernel counted for the process and those it waited for. Its peak of memory starts
// at that of the pilot, from which the process was forked: only a higher one is the job's.
func (j *Job) account(s *os.ProcessState) {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return
	}
	var own syscall.Rusage
	peak := int64(0)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil && u.Maxrss > own.Maxrss {
		peak = u.Maxrss * 1024
	}
	j.measured((s.UserTime() + s.SystemTime()).Seconds(), peak)
}

// conclude says how the process ended, and why if it was told to. It returns how many bytes its outputs are.
func (j *Job) conclude(res *wire.Result, how string, stopped *Stop) (nOutputs int) {
	code := *res.ExitCode
	res.Usage = j.Used()
	res.LogTail = logTail(j.streams)
	if signal := syscall.Signal(code - 128); stopped == nil && (signal == syscall.SIGTERM || signal == syscall.SIGUSR2 || signal == syscall.SIGKILL) {
		j.mu.Lock()
		j.struck = signal
		j.mu.Unlock()
	}
	switch {
	case stopped != nil:
		res.Outcome, res.Message = stopped.Outcome, stopped.Why+"; "+how
	case code != 0:
		res.Outcome, res.Message = "failed", cmp.Or(j.refusedBy(code), j.perhapsMemory(how), how)
	default:
		res.Outcome = "finished"
	}
	var err error
	res.Outputs, nOutputs, err = readOutputs(filepath.Join(j.dir, outputsName))
	if err != nil && res.Outcome == "finished" {
		res.Outcome, res.Message = "failed", "outputs: "+err.Error()
	}
	res.Message = Clip(res.Message)
	return nOutputs
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
