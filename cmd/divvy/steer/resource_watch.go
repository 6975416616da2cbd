package steer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// watch asks the server of a resource, by a command of the operator, and reports what it says.
type watch struct {
	resource, queue string
	command         string
	every           time.Duration
	total, used     *regexp.Regexp // nil: the output is two numbers
	once            bool
}

// externalReport is a report as it is printed.
type externalReport struct {
	Resource string    `json:"resource"`
	Queue    string    `json:"queue,omitempty"`
	Total    int64     `json:"total"`
	Used     int64     `json:"used"`
	At       time.Time `json:"at"`
}

func resourceWatchCommand(c *cli.CLI) *cobra.Command {
	var w watch
	var total, used string
	cmd := &cobra.Command{
		Use:   "watch RESOURCE --exec COMMAND",
		Short: "Report what is used of a resource outside of divvy, as a command says it",
		Long: `Report what is used of a resource outside of divvy: run a command, such as a licence server's status, read how many units
there are and how many are used out of what it prints, and tell the daemon, again and again until Ctrl-C.

Without --total-regex and --used-regex the command prints two whole numbers, total and used. With them, the first group of
each is the number; where it matches several times, the numbers are added up.

A command that fails, or prints something else, is told on stderr and reports nothing; after external_expires (10m) the last
report counts no more. A daemon that is away is asked again at the next turn.`,
		Example: `  divvy resource watch maya --exec 'lmutil lmstat -f maya' --every 1m --total-regex 'Total of (\d+) licenses? issued' --used-regex 'Total of (\d+) licenses? in use'
  divvy resource watch seats --queue CERN --exec /usr/local/bin/seats-in-use`,
		Args: cli.Takes("RESOURCE, the name of a resource"),
	}
	fs := cmd.Flags()
	fs.StringVar(&w.command, "exec", "", "command of the shell that prints the numbers (required)")
	fs.DurationVar(&w.every, "every", time.Minute, "how often; also how long the command may take")
	fs.StringVar(&total, "total-regex", "", "regular expression (RE2) whose group is the number of units that there are")
	fs.StringVar(&used, "used-regex", "", "regular expression (RE2) whose group is the number of used units")
	fs.StringVarP(&w.queue, "queue", "q", "", "of a resource per queue: the queue that the numbers are of")
	fs.BoolVar(&w.once, "once", false, "report once and leave, with exit code 1 if that did not work")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w.resource = args[0]
		if err := w.read(total, used); err != nil {
			return cli.WithExample(cmd, err)
		}
		return c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error { return watchResource(ctx, c, cl, w) })(cmd, args)
	}
	return cmd
}

// read checks the flags.
func (w *watch) read(total, used string) (err error) {
	switch {
	case strings.TrimSpace(w.command) == "":
		return fail.Usagef("resource watch needs --exec COMMAND, which prints the numbers")
	case w.every < time.Second:
		return fail.Usagef("--every %s: expected a second or more", w.every)
	case (total == "") != (used == ""):
		return fail.Usagef("--total-regex and --used-regex go together")
	case total == "":
		return nil
	}
	if w.total, err = numberPattern("--total-regex", total); err == nil {
		w.used, err = numberPattern("--used-regex", used)
	}
	return err
}

func numberPattern(flag, text string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fail.Usagef("%s: %v", flag, err)
	}
	if re.NumSubexp() == 0 {
		return nil, fail.Usagef(`%s %q has no group: put the number in brackets, as in used: (\d+)`, flag, text)
	}
	return re, nil
}

// watchResource reports until the context ends. What the daemon refuses at first is a mistake and ends it; later it may be
// that a site file lost the resource for a while.
func watchResource(ctx context.Context, c *cli.CLI, cl *client.Client, w watch) error {
	var last externalReport
	for first := true; ; first = false {
		began := time.Now()
		report, err := w.ask(ctx)
		if err == nil {
			_, err = cl.Resources().ReportExternal(ctx, w.resource, w.queue, report.Total, report.Used)
			if err != nil && (first || w.once) && !client.IsUnavailable(err) && ctx.Err() == nil {
				return err
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", w.resource, err)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && w.once:
			return err
		case err != nil:
			cli.Complain(c, err)
		case report.Total != last.Total || report.Used != last.Used || first || w.once:
			last = report
			if err := c.Print(report, func(to io.Writer) {
				fmt.Fprintf(to, "%s %s%s: %d of %d used\n", report.At.Format("15:04:05"), w.resource, show.Pick(w.queue == "", "", " at "+w.queue), report.Used, report.Total)
			}); err != nil {
				return err
			}
		}
		if w.once {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.every - time.Since(began)):
		}
	}
}

// What a command may print that is kept, and how much of it stands in an error.
const (
	maxCommandOutput = 1 << 20
	maxQuoted        = 200
)

func (w watch) ask(ctx context.Context) (externalReport, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.every, fmt.Errorf("it took longer than %s (--every)", w.every))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", w.command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it started too
	cmd.WaitDelay = time.Second
	var out, errs capped
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return externalReport{}, fmt.Errorf("the command %q failed: %w%s", w.command, err, printed(errs.String()))
	}
	total, used, err := w.numbers(out.String())
	if err != nil {
		return externalReport{}, fmt.Errorf("the command %q: %w", w.command, err)
	}
	return externalReport{Resource: w.resource, Queue: w.queue, Total: total, Used: used, At: time.Now()}, nil
}

var twoNumbers = regexp.MustCompile(`^\s*(\d+)[\s,;/]+(\d+)\s*$`)

// numbers reads total and used out of what a command printed.
func (w watch) numbers(out string) (total, used int64, err error) {
	if w.total == nil {
		m := twoNumbers.FindStringSubmatch(out)
		if m == nil {
			return 0, 0, fmt.Errorf("expected two whole numbers, total and used%s", printed(out))
		}
		if total, err = units64(m[1]); err == nil {
			used, err = units64(m[2])
		}
		return total, used, err
	}
	if total, err = sumOf("--total-regex", w.total, out); err == nil {
		used, err = sumOf("--used-regex", w.used, out)
	}
	return total, used, err
}

// sumOf adds up the first group of all matches: a licence may have a line for each of its pools.
func sumOf(flag string, re *regexp.Regexp, out string) (sum int64, err error) {
	all := re.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("%s %q does not match what it printed%s", flag, re, printed(out))
	}
	for _, m := range all {
		n, err := units64(m[1])
		if err != nil {
			return 0, fmt.Errorf("%s: %w", flag, err)
		}
		sum += n
	}
	return sum, nil
}

// maxUnits is what the daemon takes.
const maxUnits = 1_000_000_000

func units64(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxUnits {
		return 0, fmt.Errorf("%q is not a whole number in 0 … %d", text, maxUnits)
	}
	return n, nil
}

// printed is the first line of some output, for the end of an error.
func printed(out string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case line == "":
		return "; it printed nothing"
	case len(line) > maxQuoted:
		line = strings.ToValidUTF8(line[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("; it printed %q", line)
}

// capped keeps the beginning of what is written to it.
type capped struct{ bytes.Buffer }

func (b *capped) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, maxCommandOutput-b.Len()))])
	return len(p), nil
}
