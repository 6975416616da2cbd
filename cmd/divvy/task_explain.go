package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
)

func taskExplainCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "explain TASK", Aliases: []string{"why"}, Short: "Explain why nothing more of a task runs, and when it will",
		Args: takes("TASK, the id of a task"), Example: "  divvy task explain 12",
		Long: `Explain why nothing more of a task runs: what the task waits for, and of its job that is to start
next the first gate that it does not pass at each queue, what comes before it, and when it is likely to start.
Of a task without jobs the same of a piece that is no job yet. -o wide lists queues that can never run it.`,
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, args []string) error {
			id, err := parseID("task", args[0])
			if err != nil {
				return err
			}
			e, err := cl.ExplainTask(ctx, id)
			if err != nil {
				return err
			}
			return c.print(e, func(w io.Writer) { writeTaskExplanation(w, e, c.wide()) })
		})}
}

func writeTaskExplanation(w io.Writer, e client.TaskExplanation, wide bool) {
	fmt.Fprintf(w, "%s\n\n", e.Summary)
	g := newFacts(w)
	g.row("task", fmt.Sprint(e.Task))
	g.row("share", orDash(e.Share))
	g.row("state", g.state(e.State))
	g.row("jobs", fmt.Sprintf("%d ready, %d leased, %d to come", e.Ready, e.Leased, e.ToCome))
	if e.Next == nil {
		g.flush()
		return
	}
	g.row("next", pick(e.Next.Job == 0, "a piece that is no job yet", fmt.Sprintf("job %d", e.Next.Job)))
	writeTurn(w, g, *e.Next, wide)
}
