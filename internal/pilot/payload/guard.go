package payload

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// runVariable marks all processes of one run of a pilot.
const runVariable = "DIVVY_PILOT_RUN"

// Guard is the body of a small process beside the pilot. It reads which process groups begin ("+pgid") and end
// ("-pgid"), a line each, and when its input ends because the pilot is gone, kills those that are left: the
// kernel by itself would only kill the first process of each. A pilot that is killed right after it started a job
// had no time to say so; therefore every process with mark in its environment is killed too.
func Guard(in io.Reader, mark string) {
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
	for range 20 { // who forks meanwhile is met in the next round
		if mark == "" || killMarked(runVariable+"="+mark) == 0 {
			return
		}
	}
}

// killMarked kills the processes with this line in their environment and returns how many there were.
func killMarked(line string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file) // empty for zombies, not readable for those of others
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), line) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		n++
	}
	return n
}

// guard is the pilot's end of it. A nil guard guards nothing.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	log *slog.Logger

	mu     sync.Mutex
	broken bool
}

func startGuard(command []string, mark string, log *slog.Logger) (*guard, error) {
	if len(command) == 0 {
		return nil, nil
	}
	cmd := exec.Command(command[0], append(slices.Clone(command[1:]), mark)...)
	cmd.Env = withoutOurs(os.Environ())                   // the token is not for it
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
