package work

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

func claimCreateCommand(c *cli.CLI) *cobra.Command {
	var claim wire.OutsideClaim
	cmd := &cobra.Command{
		Use:   "create NAME --queue QUEUE --node NODE",
		Short: "Make a resource claim for jobs of any task",
		Long: `Make a resource claim for jobs of any task: a node, or devices of it. Tasks refer to it by its name, with claim: NAME in sharing;
their jobs wait until it is there, and run at that node only. It stays until it is deleted.`,
		Example: "  divvy resource-claim create big-disk --queue CERN --node node17\n  divvy resource-claim create cards --queue CERN --node node17 --device gpu:0 --device gpu:1",
		Args:    cli.Takes("NAME, what tasks call it"), ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = cli.Answer(c, func(ctx context.Context, cl *client.Client, args []string) (wire.ClaimStanding, error) {
		claim.Name = args[0]
		return cl.Claims().Create(ctx, claim)
	}, func(w cli.Paper, made wire.ClaimStanding) {
		fmt.Fprintf(w, "claim %d (%s): at node %s of queue %s%s\n", made.ID, made.Key, made.Node, made.Queue, waitFor(made))
	})
	f := cmd.Flags()
	f.StringVar(&claim.Queue, "queue", "", "the queue whose node it is")
	f.StringVar(&claim.Node, "node", "", "the node, as its pilots name it")
	f.StringArrayVar(&claim.Devices, "device", nil, "a device of the node that no other claim gets, such as gpu:0; may be repeated")
	f.IntVar(&claim.MaxSharers, "max-sharers", 0, "jobs that may hold it at a time; 0: no bound")
	_ = cmd.MarkFlagRequired("queue")
	_ = cmd.MarkFlagRequired("node")
	return cmd
}

// waitFor says how many jobs have waited for a claim and what it has, in words.
func waitFor(claim wire.ClaimStanding) string {
	text := ""
	if len(claim.Devices) > 0 {
		text += ", with " + strings.Join(claim.Devices, " ")
	}
	if claim.Waiting > 0 {
		text += fmt.Sprintf("; %s for it", jobsWait(claim.Waiting))
	}
	return text
}

func jobsWait(n int) string {
	return show.Plural(int64(n), "job") + show.Pick(n == 1, " waits", " wait")
}

// claimDeleteCommand ends a claim that was made outside of tasks.
func claimDeleteCommand(c *cli.CLI) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a resource claim that was made with create",
		Long: `Delete a resource claim that was made with create. While jobs hold it that is refused; with --force no others get to hold it, and it
goes with the last of them. Jobs that refer to it wait until there is one of its name again.`,
		Example: "  divvy resource-claim delete big-disk\n  divvy resource-claim delete big-disk --force",
		Args:    cli.Takes("NAME, as it was created"), ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = cli.Answer(c, func(ctx context.Context, cl *client.Client, args []string) (wire.ClaimStanding, error) {
		return cl.Claims().Delete(ctx, args[0], force)
	}, func(w cli.Paper, gone wire.ClaimStanding) {
		text := "deleted"
		switch {
		case gone.State == "draining":
			text = fmt.Sprintf("goes with the last of the %s that hold it", show.Plural(int64(gone.Sharers), "job"))
		case gone.Waiting > 0:
			text = fmt.Sprintf("deleted; %s for another one", jobsWait(gone.Waiting))
		}
		fmt.Fprintf(w, "claim %d (%s): %s\n", gone.ID, gone.Key, text)
	})
	cmd.Flags().BoolVar(&force, "force", false, "although jobs hold it")
	return cmd
}
