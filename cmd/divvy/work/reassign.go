package work

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/generator"
)

func taskReassignCommand(c *cli.CLI) *cobra.Command {
	var r wire.ReassignRequest
	a := &acting{CLI: c, request: wire.ActRequest{Verb: wire.VerbReassign}}
	cmd := &cobra.Command{
		Use:   "reassign --share SHARE TASK...",
		Short: "Give tasks to another share, and say what went, what did not and why",
		Long: `Give tasks to another share: pieces that are no jobs yet, waiting and ready jobs.

Running jobs stay charged to the share that they started under until they end; with --running they go too,
and their units are charged to the new share from then on. What has ended stays where it was.`,
		Example: "  divvy task reassign --share Analysis/User 17 18\n  divvy task reassign --share Test --running 17\n  divvy task reassign --share Test --user alice --from Production",
		Args:    a.tasksOr,
	}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, args []string) (err error) {
		if len(args) == 0 || a.request.DryRun {
			a.request.To, a.request.Running = r.Share, r.Running
			return a.act(ctx, cl, args)
		}
		if r.Tasks, err = cli.ParseIDs("task", args); err != nil {
			return err
		}
		out, err := cl.Tasks().Reassign(ctx, r)
		if err != nil {
			return err
		}
		there, none := out, out
		noTask := func(t wire.TaskReassigned) bool { return t.Why == generator.WhyNoTask }
		there.Tasks = slices.DeleteFunc(slices.Clone(out.Tasks), noTask)
		none.Tasks = slices.DeleteFunc(slices.Clone(out.Tasks), func(t wire.TaskReassigned) bool { return !noTask(t) })
		if err := c.Print(out, func(w io.Writer) { writeReassigned(w, there); writeReassigned(c.Err, none) }); err != nil {
			return err
		}
		if len(none.Tasks) > 0 {
			return fail.ErrSilent // it was said of each
		}
		return nil
	})
	cmd.Flags().StringVar(&r.Share, "share", "", "path of the leaf that they go to")
	cmd.Flags().BoolVar(&r.Running, "running", false, "running jobs too")
	_ = cmd.MarkFlagRequired("share")
	a.choiceFlags(cmd, "from")
	return cmd
}

func writeReassigned(w io.Writer, r wire.Reassigned) {
	for _, t := range r.Tasks {
		if !t.Moved {
			fmt.Fprintf(w, "task %d: nothing moved: %s\n", t.Task, t.Why)
			continue
		}
		var parts []string
		for _, p := range []struct {
			n    int64
			what string
		}{{t.Pieces, "piece"}, {t.Waiting, "waiting job"}, {t.Ready, "ready job"}, {t.Leased, "leased job"}} {
			if p.n > 0 {
				parts = append(parts, show.Plural(p.n, p.what))
			}
		}
		what := "the task itself"
		if len(parts) > 0 {
			what = strings.Join(parts, ", ")
		}
		if t.From == r.Share { // the jobs that go now had stayed when the task went
			fmt.Fprintf(w, "task %d: it is in %s already; now went %s too\n", t.Task, r.Share, what)
		} else {
			fmt.Fprintf(w, "task %d: %s → %s: %s\n", t.Task, show.OrDash(t.From), r.Share, what)
		}
		if t.Why != "" {
			fmt.Fprintf(w, "  not moved: %s\n", t.Why)
		}
		if t.Ended > 0 {
			fmt.Fprintf(w, "  not moved: %s: what has ended stays where it was\n", show.Plural(t.Ended, "ended job"))
		}
	}
}
