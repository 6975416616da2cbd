package work

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

func taskExplainCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "explain TASK", Aliases: []string{"why"}, Short: "Explain why nothing more of a task runs, and when it will",
		Args: cli.Takes("TASK, the id of a task"), Example: "  divvy task explain 12",
		Long: `Explain why nothing more of a task runs: what the task waits for, and of its job that is to start
next the first gate that it does not pass at each queue, what comes before it, and when it is likely to start.
Of a task without jobs the same of a piece that is no job yet. -o wide lists queues that can never run it.`,
		RunE: cli.ByID(c, "task", func(ctx context.Context, cl *client.Client, id int64) (wire.TaskExplanation, error) {
			return cl.Tasks().Explain(ctx, id)
		}, writeTaskExplanation)}
}

func writeTaskExplanation(w cli.Paper, e wire.TaskExplanation) {
	fmt.Fprintf(w, "%s\n\n", e.Summary)
	g := show.NewFacts(w)
	g.Row("task", fmt.Sprint(e.Task))
	g.Row("share", show.OrDash(e.Share))
	g.Row("state", g.State(e.State))
	g.Row("jobs", fmt.Sprintf("%d ready, %d leased, %d to come", e.Ready, e.Leased, e.ToCome))
	if e.Next == nil {
		g.Flush()
		return
	}
	g.Row("next", show.Pick(e.Next.Job == 0, "a piece that is no job yet", fmt.Sprintf("job %d", e.Next.Job)))
	writeTurn(w, g, *e.Next)
}
