package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/build"
)

// run executes one command line and returns its exit code.
func run(args []string, s streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return runContext(ctx, args, s)
}

func runContext(ctx context.Context, args []string, s streams) int {
	c := &cli{streams: s}
	root := rootCommand(c)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return fail.OK
	}
	var ended fail.Code
	if errors.As(err, &ended) {
		return int(ended)
	}
	var usage fail.UsageError
	if errors.As(err, &usage) || !c.started {
		hint := fmt.Sprintf("See '%s --help'.", commandPath(root, args))
		var h fail.Hinted
		if errors.As(err, &h) {
			hint = "  " + h.Hint
		}
		fmt.Fprintf(s.err, "divvy: %v\n%s\n", err, hint)
		return fail.Usage
	}
	c.complain(err)
	return fail.Failed
}

// complain says on stderr what went wrong and, where that is known, what to do about it.
func (c *cli) complain(err error) {
	if errors.Is(err, fail.ErrSilent) {
		return
	}
	red := text.Colors{}
	if colourful(c.err) {
		red = text.Colors{text.FgRed}
	}
	err = explain(err)
	fmt.Fprintf(c.err, "%s %v\n", red.Sprint("divvy:"), err)
	var h fail.Hinted
	if errors.As(err, &h) {
		fmt.Fprintf(c.err, "  %s\n", h.Hint)
	}
}

func commandPath(root *cobra.Command, args []string) string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == nil {
		return root.CommandPath()
	}
	return cmd.CommandPath()
}

// rootCommand builds the whole tree of commands around c.
func rootCommand(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:           "divvy",
		Short:         "Share out a site's slots among its users, by a tree of shares",
		Long:          "divvy shares out the slots of a site by a tree of shares.\nOne binary: daemon, pilot, command line. Start with 'divvy demo'.",
		Version:       build.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.bind(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("output", fixed("table", "wide", "json", "yaml"))
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.checkFormat(cmd); err != nil {
			return err
		}
		return c.check()
	}
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
	add("run", serveCommand(c), pilotCommand(c), migrateCommand(c), doctorCommand(c), logCommand(c), tokenCommand(c), auditCommand(c), demoCommand(c), benchCommand(c))
	add("site", applyCommand(c), sharesCommand(c), simCommand(c), tagsCommand(c), queueCommand(c), stockCommand(c), resourceCommand(c), claimCommand(c), reportCommand(c), statusCommand(c), healthCommand(c), importCommand(c))
	add("work", taskCommand(c), jobCommand(c), watchCommand(c), topCommand(c))
	root.AddCommand(manCommand(c))
	root.AddCommand(payloadCommand(c), benchLoadCommand(c), benchServeCommand(c))
	root.SetOut(c.out)              // completions are written to what is set by then
	root.InitDefaultCompletionCmd() // now and not at the start, so that it has its examples too
	finishTree(c, root)
	return root
}

// finishTree notes when a command has really begun (errors before that are usage errors) and gives groups of
// commands a run of their own, so that a misspelt subcommand is an error instead of a help page.
func finishTree(c *cli, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		finishTree(c, sub)
	}
	c.complete(cmd)
	if cmd.Example == "" {
		cmd.Example = examples[name(cmd)]
	}
	if cmd.RunE == nil {
		cmd.Args = noSuchCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.started = true
			return run(cmd, args)
		}
	}
}

// fixed completes one of a few words.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
