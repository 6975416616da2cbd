package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/mcp"
	"github.com/divvyhq/divvy/cmd/divvy/provision"
	own "github.com/divvyhq/divvy/cmd/divvy/run"
	"github.com/divvyhq/divvy/cmd/divvy/slurm"
	"github.com/divvyhq/divvy/cmd/divvy/steer"
	"github.com/divvyhq/divvy/cmd/divvy/tools"
	"github.com/divvyhq/divvy/cmd/divvy/work"
	"github.com/divvyhq/divvy/internal/build"
)

// run executes one command line and returns its exit code.
func run(args []string, s cli.Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if slurm.Known(args) { // before all commands are made: workflow engines call these by the thousand
		return slurm.Run(ctx, s, args[1], args[2:])
	}
	return cli.Execute(ctx, s, rootCommand, args)
}

// rootCommand builds the whole tree of commands around c.
func rootCommand(c *cli.CLI) *cobra.Command {
	root := &cobra.Command{
		Use:     "divvy",
		Short:   "Share out a site's slots among its users, by a tree of shares",
		Long:    "divvy shares out the slots of a site by a tree of shares.\nOne binary: daemon, pilot, command line. Start with 'divvy demo'.",
		Version: build.Version(),
	}
	c.Bind(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run:"},
		&cobra.Group{ID: "site", Title: "Site:"},
		&cobra.Group{ID: "work", Title: "Work:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add("run", serveCommand(c), pilotCommand(c), provision.Command(c), tools.Migrate(c), tools.Doctor(c), steer.Log(c), steer.Token(c), steer.Audit(c), demoCommand(c))
	add("site", steer.Apply(c), steer.Shares(c), tools.Sim(c), steer.Tags(c), steer.Queue(c), work.Stock(c), steer.Resource(c), work.Claim(c), steer.Report(c), work.Status(c), steer.Health(c), steer.Import(c))
	add("work", work.Login(c), work.Logout(c), work.Whoami(c), own.Command(c), work.Task(c), work.Job(c), work.Watch(c), work.Top(c), slurm.Command(c), mcp.Command(c))
	root.AddCommand(tools.Man(c))
	root.AddCommand(payloadCommand(c))
	return root
}
