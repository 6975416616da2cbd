package payload

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// killing is how long SIGKILL is waited for. It ends nothing that hangs in the kernel, as on a file server that is away, or that is
// another user's.
const killing = 100 * time.Millisecond

// process is the first process of a job and, by its id, the job's process group.
type process struct {
	cmd    *exec.Cmd
	pid    int
	exited chan struct{} // closed when cmd.ProcessState is there
	ask    func()        // of such a container, to end; nil: the client of the runtime hands signals on
	kill   func()        // of a container that is not below it: SIGKILL would reach the client of the runtime alone

	mu     sync.Mutex
	reaped bool
}

// signal reaches the whole group. Once the first process is reaped its id may belong to another one.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, s) // fails when the group is gone, which is fine
	}
}

// terminate asks the job to end. The client of a runtime hands that on, and is asked alone: all of its group would do so.
func (p *process) terminate() {
	if p.kill == nil {
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGCONT) // a stopped process cannot end in peace
		return
	}
	if p.ask != nil {
		p.ask()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(p.pid, syscall.SIGTERM)
	}
}

// wait ends when the first process does. The rest of its group is killed while the zombie still holds the id.
func (p *process) wait() {
	awaitExit(p.pid)
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	_ = p.cmd.Wait() // the error is ProcessState once more
	p.reaped = true
	p.mu.Unlock()
	close(p.exited)
}

// reapGroup waits for killed members of a group that became our children: those of a pilot that is process 1 of
// a container, or a subreaper. There are none otherwise. Those that the kernel holds are left alone.
func reapGroup(pgid int) {
	for end := time.Now().Add(killing); ; {
		got, err := syscall.Wait4(-pgid, nil, syscall.WNOHANG, nil)
		switch {
		case err != nil && !errors.Is(err, syscall.EINTR), got == 0 && time.Now().After(end):
			return
		case got == 0:
			<-time.After(time.Millisecond)
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
