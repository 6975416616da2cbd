package payload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// runVariable marks all processes of one run of a pilot.
const runVariable = "DIVVY_PILOT_RUN"

// Guard is the body of a small process beside the pilot. It reads which process groups ("+pgid"), control groups (+ and a path) and
// containers (+ and an order) begin, and with - which have ended, a line each, and when its input ends because the pilot is gone, kills
// those that are left: the kernel by itself would only kill the first process of each. A pilot that is killed right after it started a
// job had no time to say so; therefore every process with mark in its environment is killed too.
func Guard(in io.Reader, mark string) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // it ends with the pilot, not before
	live := map[string]bool{}
	for lines := bufio.NewReader(in); ; {
		text, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		text = strings.TrimSuffix(text, "\n")
		if what, begins := strings.CutPrefix(text, "+"); begins {
			live[what] = true
		} else {
			delete(live, strings.TrimPrefix(text, "-"))
		}
	}
	var orders sync.WaitGroup
	for what := range live {
		if pgid, err := strconv.Atoi(what); filepath.IsAbs(what) {
			orders.Go(func() { _ = endCgroup(what) })
		} else if err != nil {
			orders.Go(func() { carryOut(what) })
		} else if pgid > 1 {
			_ = syscall.Kill(-pgid, syscall.SIGKILL) // gone already is fine
		}
	}
	for range 20 { // who forks meanwhile is met in the next round
		if mark == "" || killMarked(runVariable+"="+mark) == 0 {
			break
		}
	}
	orders.Wait()
}

// order is a command that ends a container.
type order struct {
	Path      string
	Args, Env []string
	As        *syscall.Credential
}

// carryOut gives an order twice: a runtime may have been making the container when the pilot died.
func carryOut(text string) {
	var o order
	if json.Unmarshal([]byte(text), &o) != nil {
		return
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), endWithin)
		cmd := exec.CommandContext(ctx, o.Path)
		cmd.Args, cmd.Env, cmd.SysProcAttr = o.Args, o.Env, &syscall.SysProcAttr{Credential: o.As, Setpgid: true}
		_ = cmd.Run() // there may be no such container any more
		cancel()
		<-time.After(time.Second)
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

// addCgroup tells of the control group of a job, if it has one, removeCgroup that it is gone.
func (g *guard) addCgroup(of *cgroup)    { g.sayCgroup("+%s\n", of) }
func (g *guard) removeCgroup(of *cgroup) { g.sayCgroup("-%s\n", of) }

func (g *guard) sayCgroup(format string, of *cgroup) {
	if of != nil {
		g.say(format, of.dir)
	}
}

// addEnd tells how the container of a job is ended, removeEnd that it has.
func (g *guard) addEnd(j *Job)    { g.sayEnd("+%s\n", j) }
func (g *guard) removeEnd(j *Job) { g.sayEnd("-%s\n", j) }

func (g *guard) sayEnd(format string, j *Job) {
	if c := j.container; c != nil && c.end != nil {
		text, err := json.Marshal(order{Path: c.program, Args: c.end, Env: lines(withoutMark(c.client)), As: c.as})
		if err == nil { // plain values
			g.say(format, text)
		}
	}
}

// withoutMark is an environment without the mark by which the guard kills: it starts the command itself.
func withoutMark(env map[string]string) map[string]string {
	env = maps.Clone(env)
	delete(env, runVariable)
	return env
}

func (g *guard) say(format string, what any) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken {
		return
	}
	if _, err := fmt.Fprintf(g.in, format, what); err != nil {
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
