package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/local"
	"github.com/divvyhq/divvy/internal/build"
)

// Command is 'divvy run'.
func Command(c *cli.CLI) *cobra.Command {
	var a Ask
	var how way
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command and follow it",
		Long: `Run a command of yours as a task of one job or many, follow it, and print what its jobs write.

Jobs run in the folder where you are, as at a batch system with a shared file system. COMMAND, --env and --stdout may have
the placeholders of task files: {{.Index}}, {{.Input}}, {{.Task}}, {{.Job}}. Jobs find their number in DIVVY_INDEX.

Exit code: 0 when all jobs finished, else that of the job that failed first; 1 when it has none; 2 for a wrong command line.
Ctrl-C shows how far the task is; a second one within a second kills it (130), and so does SIGTERM (143). Ctrl-\\ leaves it alone.

--local needs no server: it starts a private one with the CPUs of this machine, and removes it at the end.`,
		Example: "  divvy run --local -- ./script\n" +
			"  divvy run -n 20 --cores 2 --memory 4g --time 1h --share Test -- ./script {{.Index}}\n" +
			"  divvy run --array 1-100 --stdout out-{{.Index}}.txt -- ./script {{.Index}}\n" +
			"  divvy run --input-glob 'data/*.txt' -- wc -l {{.Input}}\n" +
			"  divvy run --image docker.io/library/python:3.13 -- python3 script.py\n" +
			"  divvy run --detach --after 17 -- ./merge",
		Args: cobra.ArbitraryArgs,
	}
	a.bind(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows COMMAND is for it
	f.BoolVar(&how.detach, "detach", false, "print the id of the task and do not follow it")
	f.BoolVar(&how.local, "local", false, "start a private server with this machine's CPUs for this command, and remove it at the end")
	f.BoolVarP(&how.quiet, "quiet", "q", false, "no messages but errors and what jobs write")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		task, err := a.Spec(args)
		switch {
		case err != nil:
			return err
		case a.Count == 0 && cmd.Flags().Changed("count"):
			return fail.Usagef("-n 0: expected 1 or more")
		case how.local && how.detach:
			return fail.Usagef("--detach with --local: the private server ends with this command")
		case how.local && (a.Share != "" || len(a.Queues) > 0 || len(a.After) > 0):
			return fail.Usagef("--local has one share and one queue, and no other tasks: leave --share, --queue and --after out")
		}
		if how.local && a.Image != "" && local.Runtime() == "" {
			return fail.Usagef("--image with --local: no podman, docker or apptainer is in PATH; install one")
		}
		how.Ask = &a
		return how.run(context.WithoutCancel(cmd.Context()), c, task)
	}
	return cmd
}

func (a *Ask) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64VarP(&a.Count, "count", "n", 0, "so many jobs, numbered from 0 (default 1)")
	f.StringVar(&a.Array, "array", "", "jobs of these numbers: 1-100, 0-99:3, 1,5,9")
	f.StringVar(&a.Glob, "input-glob", "", "a job for each file that matches, its {{.Input}}; quote it")
	f.IntVar(&a.Cores, "cores", 1, "cores of a job")
	f.StringVar(&a.Memory, "memory", "", "memory of a job, such as 500m or 4g")
	f.StringVar(&a.Disk, "disk", "", "disk of a job, such as 20g")
	f.StringVar(&a.Time, "time", "", "walltime of a job, such as 90s, 2h or 1d12h")
	f.StringVar(&a.Share, "share", "", "leaf that pays (default: what the tagging rules say)")
	f.StringSliceVar(&a.Queues, "queue", nil, "where it may run: names, globs or labels")
	f.StringToStringVar(&a.Labels, "label", nil, "labels that a slot must have, such as os=el9")
	f.IntVar(&a.Priority, "priority", 0, "higher goes first within the share")
	f.IntVar(&a.Retries, "retries", 0, "try a job that failed so many times again")
	f.StringArrayVar(&a.Env, "env", nil, "NAME=VALUE, or NAME as it is here, in the environment of jobs")
	f.BoolVar(&a.EnvAll, "env-all", false, "all of this environment but DIVVY_ variables; the server stores it")
	f.StringArrayVar(&a.After, "after", nil, "start when this task is done; 17:finished, 17:any: or over otherwise")
	f.StringVar(&a.Dir, "dir", "", "folder that jobs run in (default: this one)")
	f.BoolVar(&a.OwnFolder, "own-folder", false, "jobs run in empty folders of their own")
	f.StringVar(&a.Stdout, "stdout", "", "file for the output of a job, such as out-{{.Index}}.txt")
	f.StringVar(&a.Stderr, "stderr", "", "file for its errors; it may be the same")
	f.StringVar(&a.Name, "name", "", "name of the task (default: that of the command)")
	f.StringVar(&a.User, "user", "", "on whose behalf (default: you)")
	f.StringVar(&a.Image, "image", "", "image of the container that jobs run in, such as docker.io/library/python:3.13")
}

// way is how a task is run and followed.
type way struct {
	*Ask
	detach, local, quiet bool
}

func (h *way) run(ctx context.Context, c *cli.CLI, task wire.TaskSpec) (err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if h.local {
		return h.runLocal(ctx, c, task, signals)
	}
	cl, err := c.Asks(client.Config{UserAgent: "divvy/" + build.Version(), Patience: 2 * time.Second})
	if err != nil {
		return err
	}
	defer cl.Close()
	return h.with(ctx, c, cl, task, signals)
}

// runLocal runs on a private server.
func (h *way) runLocal(ctx context.Context, c *cli.CLI, task wire.TaskSpec, signals chan os.Signal) (err error) {
	log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	start, cancel := context.WithCancel(ctx)
	defer cancel()
	started := make(chan struct{})
	go func() { // a signal ends the start
		select {
		case s := <-signals:
			signals <- s
			cancel()
		case <-started:
		}
	}()
	s, err := local.Start(start, runtime.NumCPU(), log)
	close(started)
	if err != nil {
		if start.Err() != nil {
			return errors.New("interrupted while the private server started; nothing was left")
		}
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	return h.with(ctx, c, s.Client, task, signals)
}

// with submits the task and follows it.
func (h *way) with(ctx context.Context, c *cli.CLI, cl *client.Client, task wire.TaskSpec, signals <-chan os.Signal) error {
	t, err := submit(ctx, cl, task)
	if err != nil {
		return h.explain(err)
	}
	if h.detach {
		fmt.Fprintln(c.Out, t.ID)
		return nil
	}
	return newFollower(c, cl, t, h).follow(ctx, signals)
}

// submit refuses what no queue can run: nobody would wait for that.
func submit(ctx context.Context, cl *client.Client, task wire.TaskSpec) (t wire.Task, err error) {
	all, err := cl.Tasks().SubmitMany(ctx, []wire.KeyedTask{{Task: task, Strict: true}})
	switch {
	case err != nil:
		return t, err
	case len(all) == 1 && all[0].Problem != nil:
		return t, all[0].Problem
	case len(all) != 1 || all[0].Task == nil:
		return t, errors.New("the daemon's answer has no task")
	}
	return *all[0].Task, nil
}

// explain adds the way without a server.
func (h *way) explain(err error) error {
	var away *client.Unreachable
	if !errors.As(err, &away) {
		return err
	}
	said, hint := cli.Explain(err), ""
	var hinted fail.Hinted
	if errors.As(said, &hinted) {
		hint = hinted.Hint + "\n  "
	}
	return fail.Hintf(said, "%sWithout one: 'divvy run --local -- COMMAND' starts a private server for this command.", hint)
}
