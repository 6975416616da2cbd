package work

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

func taskPriorityCommand(c *cli.CLI) *cobra.Command {
	var priority int
	a := &acting{CLI: c, request: wire.ActRequest{Verb: wire.VerbPrioritise, Priority: &priority}}
	cmd := &cobra.Command{
		Use:   "priority --to N TASK...",
		Short: "Give tasks and their jobs another priority",
		Long: `Give tasks and their jobs another priority: higher goes first within the share.

Pieces that are no jobs yet, waiting and ready jobs have it at once. What runs is left alone; if it fails it comes back
with the new priority.`,
		Example: "  divvy task priority --to 900 17 18\n  divvy task priority --to=-100 17\n  divvy task priority --to 900 --user alice --state ready",
		Args:    a.tasksOr,
	}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		if len(args) == 0 || a.request.DryRun {
			return a.act(ctx, cl, args)
		}
		ids, err := cli.ParseIDs("task", args)
		if err != nil {
			return err
		}
		done := wire.Page[wire.PriorityChange]{}
		for _, id := range ids {
			ch, err := cl.Tasks().Prioritise(ctx, id, priority)
			if err != nil {
				return fmt.Errorf("task %d: %w", id, err)
			}
			done.Items = append(done.Items, ch)
		}
		return c.Print(done, func(w io.Writer) {
			for _, ch := range done.Items {
				fmt.Fprintln(w, priorityChange(ch))
			}
		})
	})
	cmd.Flags().IntVar(&priority, "to", 0, "the new priority")
	_ = cmd.MarkFlagRequired("to")
	a.choiceFlags(cmd, "share")
	return cmd
}

// priorityChange says what a change of priority did, in words.
func priorityChange(ch wire.PriorityChange) string {
	if ch.Before == ch.After {
		return fmt.Sprintf("task %d has priority %d: nothing to do", ch.Task, ch.After)
	}
	var parts []string
	for _, p := range []struct {
		n    int64
		what string
	}{{ch.Ready, "ready job"}, {ch.Waiting, "waiting job"}, {ch.Leased, "leased job"}} {
		if p.n > 0 {
			parts = append(parts, show.Plural(p.n, p.what))
		}
	}
	s := fmt.Sprintf("task %d: priority %d → %d", ch.Task, ch.Before, ch.After)
	if len(parts) > 0 {
		s += "; " + strings.Join(parts, ", ")
	}
	return s
}
