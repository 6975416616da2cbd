package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Execute runs one command line of the tree that root makes, and returns its exit code.
func Execute(ctx context.Context, s Streams, root func(c *CLI) *cobra.Command, args []string) int {
	c := &CLI{Streams: s}
	tree := Tree(c, root)
	tree.SetArgs(args)
	err := tree.ExecuteContext(ctx)
	if err == nil {
		return fail.OK
	}
	var ended fail.Code
	if errors.As(err, &ended) {
		return int(ended)
	}
	var usage fail.UsageError
	if errors.As(err, &usage) || !c.Started {
		hint := fmt.Sprintf("See '%s --help'.", commandPath(tree, args))
		var h fail.Hinted
		if errors.As(err, &h) {
			hint = "  " + h.Hint
		}
		fmt.Fprintf(s.Err, "%s: %v\n%s\n", tree.Name(), err, hint)
		return fail.Usage
	}
	Complain(c, err)
	return fail.Failed
}

func commandPath(root *cobra.Command, args []string) string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == nil {
		return root.CommandPath()
	}
	return cmd.CommandPath()
}

// Tree is the whole tree of commands around c, with the flags, the completions and the errors that all of them have.
func Tree(c *CLI, make func(c *CLI) *cobra.Command) *cobra.Command {
	root := make(c)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(c.In)
	root.SetErr(c.Err)
	c.program = root.Name()
	root.PersistentFlags().StringVarP(&c.Output, "output", "o", "table", "table, wide, json or yaml; of reports csv too")
	_ = root.RegisterFlagCompletionFunc("output", Fixed("table", "wide", "json", "yaml"))
	root.SetFlagErrorFunc(FlagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.CheckFormat(cmd); err != nil {
			return err
		}
		return c.Check()
	}
	root.SetOut(c.Out)              // completions are written to what is set by then
	root.InitDefaultCompletionCmd() // now and not at the start, so that it has its examples too
	c.finish(root)
	return root
}

// finish notes when a command has really begun (errors before that are usage errors) and gives groups of
// commands a run of their own, so that a misspelt subcommand is an error instead of a help page.
func (c *CLI) finish(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.finish(sub)
	}
	c.Complete(cmd)
	if cmd.Example == "" {
		cmd.Example = Examples[Name(cmd)]
	}
	if cmd.RunE == nil {
		cmd.Args = NoSuchCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.Started = true
			return run(cmd, args)
		}
	}
}

// Complain says on stderr what went wrong and, where that is known, what to do about it.
func Complain(c *CLI, err error) {
	if errors.Is(err, fail.ErrSilent) {
		return
	}
	red := text.Colors{}
	if show.Colourful(c.Err) {
		red = text.Colors{text.FgRed}
	}
	err = Explain(err)
	fmt.Fprintf(c.Err, "%s %v\n", red.Sprint(c.program+":"), err)
	var h fail.Hinted
	if errors.As(err, &h) {
		fmt.Fprintf(c.Err, "  %s\n", h.Hint)
	}
}
