package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/slurm"
)

// patience is how long a daemon that is away is asked again: clients of Slurm give its commands ten seconds.
const patience = 8 * time.Second

// command is one call of one of Slurm's commands.
type command struct {
	cli.Streams
	lister
	name  string
	given slurm.Given
}

// lister reads jobs of the daemon as rows of lists.
type lister struct{ client *client.Client }

// verbs are the commands.
var verbs = map[string]func(context.Context, *command) error{
	"sbatch": sbatch, "squeue": squeue, "sacct": sacct, "scancel": scancel, "scontrol": scontrol, "sinfo": sinfo, "srun": srun, "sacctmgr": sacctmgr, "sshare": sshare,
}

// Known says whether a command line of divvy is one for Run.
func Known(args []string) bool {
	return len(args) > 1 && args[0] == "slurm" && slices.Contains(slurm.Commands, args[1])
}

// exit ends a command with a code; all was said already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs a command by its name and returns its exit code.
func Run(ctx context.Context, s cli.Streams, name string, args []string) int {
	if slices.Contains(args, "--help") && (len(args) == 1 || name != "sbatch" && name != "srun") {
		_, _ = io.WriteString(s.Out, Help(name))
		return 0
	}
	c := &command{Streams: s, name: name}
	err := c.run(ctx, args)
	var usage *slurm.UsageError
	var code exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(s.Err, "%s: %s\nTry \"%s --help\" for more information\n", name, usage.Text, name)
		return usage.Code()
	}
	c.complain("%v", err)
	return 1
}

func (c *command) run(ctx context.Context, args []string) (err error) {
	if c.given, err = slurm.Parse(c.name, args); err != nil {
		return err
	}
	common := &cli.CLI{Streams: c.Streams}
	if err := common.Check(); err != nil {
		return err
	}
	if c.client, err = common.Asks(client.Config{UserAgent: "divvy-slurm/" + build.Version(), Patience: patience}); err != nil {
		return err
	}
	defer c.client.Close()
	return verbs[c.name](ctx, c)
}

// complain writes an error as Slurm's commands do, a line of it at a time.
func (c *command) complain(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(c.Err, "%s: error: %s\n", c.name, strings.TrimRight(line, "\n"))
	}
}

// caller is the user on whose behalf the command runs.
func caller() string {
	for _, name := range []string{"USER", "LOGNAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "nobody"
}

// words cuts a list at commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
