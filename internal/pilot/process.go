package pilot

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is the first process of a job and, by its id, the job's process group.
type process struct {
	cmd    *exec.Cmd
	pid    int
	exited chan struct{} // closed when cmd.ProcessState is there

	mu     sync.Mutex
	reaped bool
}

// signal reaches the whole group. Once the first process is reaped its id may be somebody else's.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, s) // fails when the group is gone, which is fine
	}
}

// wait ends when the first process does. The rest of its group is killed while the zombie still holds the id.
func (p *process) wait() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	_ = p.cmd.Wait() // the error is ProcessState once more
	p.reaped = true
	p.mu.Unlock()
	close(p.exited)
}

// reapGroup waits for killed members of a group that became our children: those of a pilot that is process 1 of
// a container, or a subreaper. There are none otherwise.
func reapGroup(pgid int) {
	for {
		_, err := syscall.Wait4(-pgid, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// starter forks all processes from one thread that lives as long as the pilot: Pdeathsig follows the thread.
type starter struct {
	work chan func()
	done sync.WaitGroup
}

func newStarter() *starter {
	s := &starter{work: make(chan func())}
	s.done.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range s.work {
			f()
		}
	})
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	err := make(chan error, 1)
	s.work <- func() { err <- cmd.Start() }
	return <-err
}

func (s *starter) close() {
	close(s.work)
	s.done.Wait()
}
