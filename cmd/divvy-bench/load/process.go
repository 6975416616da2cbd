package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Process is a load process that runs.
type Process struct {
	In    io.WriteCloser // what follows the order
	Ended chan struct{}  // closed when it has ended

	kill    context.CancelFunc
	outcome Outcome
	claims  []Claim
	err     error
}

// Start starts a load process by its command. Each, unless nil, hears of every claim with the time of its arrival, if the mode says it. End
// it with Wait, Stop or Fail.
func Start(ctx context.Context, command []string, o Order, each func(Claim, time.Time)) (*Process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &Process{Ended: make(chan struct{}), kill: cancel}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err = errors.Join(err, outErr); err == nil {
		p.In, err = in, cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("load process: %w", err)
	}
	go func() {
		defer close(p.Ended)
		p.err = errors.Join(p.read(out, each), cmd.Wait())
		switch {
		case p.outcome.Error != "":
			p.err = fmt.Errorf("load process: %s", p.outcome.Error)
		case p.err != nil:
			p.err = fmt.Errorf("load process: %w", p.err)
		}
	}()
	if _, err := p.In.Write(append(text, '\n')); err != nil {
		return nil, p.Fail(err)
	}
	return p, nil
}

func (p *Process) read(out io.Reader, each func(Claim, time.Time)) error {
	said := false
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		text := lines.Text()
		if f := strings.Fields(text); len(f) >= 3 && f[0] == "c" {
			job, _ := strconv.ParseInt(f[1], 10, 64)
			var nanos int64
			if len(f) > 3 {
				nanos, _ = strconv.ParseInt(f[3], 10, 64)
			}
			p.claims = append(p.claims, Claim{job, f[2]})
			if each != nil {
				each(Claim{job, f[2]}, time.Unix(0, nanos))
			}
		} else if rest, ok := strings.CutPrefix(text, "r "); ok {
			said = true
			if err := json.Unmarshal([]byte(rest), &p.outcome); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil || said {
		return err
	}
	return errors.New("ended without an outcome")
}

// Wait returns what came out when the process has ended by itself.
func (p *Process) Wait() (Outcome, []Claim, error) {
	<-p.Ended
	p.kill()
	return p.outcome, p.claims, p.err
}

// Stop ends a load that goes on until its input ends.
func (p *Process) Stop() (Outcome, []Claim, error) {
	_ = p.In.Close()
	return p.Wait()
}

// Fail kills the process, because of an error that it returns with its own.
func (p *Process) Fail(err error) error {
	p.kill()
	<-p.Ended
	return errors.Join(err, p.err)
}

// Do runs a load process to its end.
func Do(ctx context.Context, command []string, o Order) (Outcome, []Claim, error) {
	p, err := Start(ctx, command, o, nil)
	if err != nil {
		return Outcome{}, nil, err
	}
	return p.Wait()
}
