package stage

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
	"github.com/divvyhq/divvy/dispatcher"
)

// Served is a daemon that runs in this process.
type Served struct {
	Dispatcher *dispatcher.Dispatcher
	URL        string
	Stop       func(context.Context) error
}

// Address is its host:port.
func (s Served) Address() string { return strings.TrimPrefix(s.URL, "http://") }

// Serve starts the daemon.
func (s *Stage) Serve(ctx context.Context) (err error) {
	s.Book.Say("starting the daemon")
	if s.Served, err = s.Config.Serve(ctx, s.Place.DSN); err != nil {
		return err
	}
	return s.Place.InLog(ctx)
}

// Unserve ends the daemon, if there is one.
func (s *Stage) Unserve(ctx context.Context) (err error) {
	if s.Served.Stop != nil {
		err = s.Served.Stop(ctx)
	}
	s.Served = Served{}
	return err
}

// Back serves again, if the daemon was stopped for others, and restores the data set.
func (s *Stage) Back(ctx context.Context) error {
	if s.Served.Stop == nil {
		if err := s.Serve(ctx); err != nil {
			return err
		}
	}
	return s.Restore(ctx)
}

// order is what a daemon's process is told, as JSON on its standard input: a DSN has no place among arguments.
type order struct {
	Database string // DSN
}

// Daemon is a daemon's process: an order on in, its URL on out as soon as it serves. It stops when in ends.
func Daemon(ctx context.Context, in io.Reader, out io.Writer, serve func(context.Context, string) (Served, error)) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	var o order
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

// Process is a daemon in a process of its own.
type Process struct {
	Client *client.Client
	URL    string
	Began  time.Time // when it was started
	cmd    *exec.Cmd
	in     io.WriteCloser
}

// Start starts a daemon by its command on a database and returns when it serves. End it with Stop.
func Start(ctx context.Context, command []string, dsn string) (*Process, error) {
	if len(command) == 0 {
		return nil, errors.New("a daemon in a process of its own is wanted, but Config.Daemon does not say how")
	}
	text, err := json.Marshal(order{Database: dsn})
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.Began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	_, err = p.in.Write(append(text, '\n'))
	line, readErr := bufio.NewReader(out).ReadString('\n')
	if err = errors.Join(err, readErr); err != nil {
		return nil, fmt.Errorf("daemon: it does not start: %w", errors.Join(err, p.Stop()))
	}
	p.URL = strings.TrimSpace(line)
	if p.Client, err = client.New(client.Config{URL: p.URL, UserAgent: "divvy-bench"}); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Address is its host:port.
func (p *Process) Address() string { return strings.TrimPrefix(p.URL, "http://") }

// stopWithin is how long a daemon may take to end; its own bound is shorter.
const stopWithin = time.Minute

// Stop ends the daemon as SIGTERM would, and kills it when that takes too long.
func (p *Process) Stop() error {
	if p.Client != nil {
		p.Client.Close()
	}
	err := p.in.Close()
	late := time.AfterFunc(stopWithin, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// Memory is what the kernel counts as resident, in MB: now, and the most that it ever was.
func (p *Process) Memory() (now, peak float64, err error) {
	file := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status")
	read := func(name string) float64 {
		kb, e := strconv.ParseFloat(strings.TrimSuffix(field(file, name), " kB"), 64)
		err = errors.Join(err, e)
		return kb * 1024 / 1e6
	}
	now, peak = read("VmRSS"), read("VmHWM")
	return now, max(now, peak), err // the kernel counts both roughly, and they are read one after the other
}

// CPU is the processor time that the daemon has used, in its own code and in the kernel for it.
func (p *Process) CPU() (time.Duration, error) { return proc.CPU(p.cmd.Process.Pid) }
