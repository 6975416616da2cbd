package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/client"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// daemonOrder is what a daemon's process is told, as JSON on its standard input: a DSN has no place among arguments.
type daemonOrder struct {
	Database string // DSN
}

// Daemon is a daemon's process: an order on in, its URL on out as soon as it serves. It stops when in ends.
func Daemon(ctx context.Context, in io.Reader, out io.Writer, serve func(context.Context, string) (Served, error)) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	var o daemonOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return errors.New("order: not JSON") // the error could show the password
	}
	served, err := serve(ctx, o.Database)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, served.URL); err != nil {
		return errors.Join(err, served.Stop(context.WithoutCancel(ctx)))
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, lines) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return served.Stop(context.WithoutCancel(ctx))
}

// process is a daemon in a process of its own.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	url    string
	client *client.Client
	began  time.Time // when it was started
}

// startDaemon starts a daemon on the stage's database and returns when it serves. End it with stop.
func (s *stage) startDaemon(ctx context.Context) (*process, error) {
	if len(s.cfg.DaemonCommand) == 0 {
		return nil, errors.New("a daemon in a process of its own is wanted, but Config.DaemonCommand does not say how")
	}
	text, err := json.Marshal(daemonOrder{Database: s.place.dsn})
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, s.cfg.DaemonCommand[0], s.cfg.DaemonCommand[1:]...)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	_, err = p.in.Write(append(text, '\n'))
	line, readErr := bufio.NewReader(out).ReadString('\n')
	if err = errors.Join(err, readErr); err != nil {
		return nil, fmt.Errorf("daemon: it does not start: %w", errors.Join(err, p.stop()))
	}
	p.url = strings.TrimSpace(line)
	if p.client, err = client.New(client.Config{URL: p.url, UserAgent: "divvy-bench"}); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *process) address() string { return strings.TrimPrefix(p.url, "http://") }

// stopWithin is how long a daemon may take to end; its own bound is shorter.
const stopWithin = time.Minute

// stop ends the daemon as SIGTERM would, and kills it when that takes too long.
func (p *process) stop() error {
	if p.client != nil {
		p.client.Close()
	}
	err := p.in.Close()
	late := time.AfterFunc(stopWithin, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// memory is what the kernel counts as resident: now, and the most that it ever was.
func (p *process) memory() (now, peak float64, err error) {
	file := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status")
	for _, want := range []struct {
		name string
		to   *float64
	}{{"VmRSS", &now}, {"VmHWM", &peak}} {
		kb, err := strconv.ParseFloat(strings.TrimSuffix(field(file, want.name), " kB"), 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %s: %w", file, want.name, err)
		}
		*want.to = kb * 1024 / 1e6
	}
	return now, max(now, peak), nil // the kernel counts both roughly, and they are read one after the other
}

// cpu is the processor time that the daemon has used, in its own code and in the kernel for it.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat"))
	if err != nil {
		return 0, err
	}
	return proc.CPUIn(string(text))
}
