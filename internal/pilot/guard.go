package pilot

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Guard is the body of a small process beside the pilot. It reads which process groups begin ("+pgid") and end
// ("-pgid"), a line each, and when its input ends because the pilot is gone, kills those that are left: the
// kernel by itself would only kill the first process of each.
func Guard(in io.Reader) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // it ends with the pilot, not before
	live := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text := lines.Text()
		pgid, err := strconv.Atoi(strings.TrimLeft(text, "+-"))
		if err != nil || pgid <= 1 {
			continue
		}
		if strings.HasPrefix(text, "+") {
			live[pgid] = true
		} else {
			delete(live, pgid)
		}
	}
	for pgid := range live {
		_ = syscall.Kill(-pgid, syscall.SIGKILL) // gone already is fine
	}
}

// guard is the pilot's end of it. A nil guard guards nothing.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	log *slog.Logger

	mu     sync.Mutex
	broken bool
}

func startGuard(command []string, log *slog.Logger) (*guard, error) {
	if len(command) == 0 {
		return nil, nil
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guard{cmd: cmd, in: in, log: log}, nil
}

func (g *guard) add(pgid int)    { g.say("+%d\n", pgid) }
func (g *guard) remove(pgid int) { g.say("-%d\n", pgid) }

func (g *guard) say(format string, pgid int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken {
		return
	}
	if _, err := fmt.Fprintf(g.in, format, pgid); err != nil {
		g.broken = true
		g.log.Error("guard is gone: jobs may outlive a killed pilot", "error", err)
	}
}

func (g *guard) close() {
	if g == nil {
		return
	}
	_ = g.in.Close()
	_ = g.cmd.Wait() // it has nothing to say
}
