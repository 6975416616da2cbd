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

// Stock shows how well shares are supplied with ready jobs.
func Stock(c *cli.CLI) *cobra.Command {
	var share, queue string
	cmd := &cobra.Command{Use: "stock", Short: "Show which shares have ready jobs for which queues", Args: cli.Takes(),
		Example: "  divvy stock --share Production\n  divvy stock --queue CERN",
		Long: `Show which shares have ready jobs for which queues.

A row for the jobs of a share that the same queues may run: how many are ready, how many more its tasks will
have, how many the free slots could start now, and how many pilots are there to do it, or should be started. Below them the gaps: queues without a ready job of the share,
and why.`,
		RunE: cli.Items(c, func(ctx context.Context, cl *client.Client, _ []string) ([]wire.ShareStock, error) {
			return cl.Shares().Stock(ctx, share, queue)
		}, writeStock)}
	cmd.Flags().StringVar(&share, "share", "", "only this share and those below it")
	cmd.Flags().StringVar(&queue, "queue", "", "only what this queue may run")
	return cmd
}

func writeStock(w cli.Paper, all []wire.ShareStock) {
	g := show.New(w, "share", "queues", ">ready", ">to come", ">startable", ">starts/min", "pilots")
	gaps := show.New(w, "share", "no ready job at", "why")
	nGaps := 0
	for _, s := range all {
		for _, set := range s.Sets {
			startable := fmt.Sprint(set.Startable)
			if set.Startable < 0 {
				startable = "no bound"
			}
			g.Row(s.Share, namesOf(set.Queues, "nowhere", w.Wide), set.Ready, set.ToCome, startable, show.Units(set.StartsPerMinute), pilotsOf(set))
		}
		for _, gap := range s.Gaps {
			nGaps++
			gaps.Row(s.Share, namesOf(gap.Queues, "", w.Wide), gap.Reason)
		}
	}
	g.Flush()
	if nGaps > 0 {
		fmt.Fprintln(w)
		gaps.Flush()
	}
}

// pilotsOf says which pilots may start the jobs of a set.
func pilotsOf(set wire.QueueSet) string {
	switch {
	case len(set.Queues) == 0:
		return "-"
	case set.ToStart > 0:
		return fmt.Sprintf("%d, %d to start", set.Pilots, set.ToStart)
	case set.Pilots == 0:
		return "none: nothing starts"
	}
	return fmt.Sprint(set.Pilots)
}

// mostNames bounds the names in a cell.
const mostNames = 4

func namesOf(names []string, none string, wide bool) string {
	switch {
	case len(names) == 0:
		return none
	case len(names) <= mostNames || wide:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}

func taskQueuesCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "queues TASK", Short: "Show where the jobs of a task may run, and what excludes which queue",
		Args: cli.Takes("TASK, the id of a task"), Example: "  divvy task queues 12",
		RunE: cli.ByID(c, "task", func(ctx context.Context, cl *client.Client, id int64) (wire.Page[wire.KindQueues], error) {
			kinds, err := cl.Tasks().Queues(ctx, id)
			return wire.Page[wire.KindQueues]{Items: kinds}, err
		}, func(w cli.Paper, page wire.Page[wire.KindQueues]) { writeKinds(w, page.Items) })}
}

func writeKinds(w io.Writer, kinds []wire.KindQueues) {
	if len(kinds) == 0 {
		fmt.Fprintln(w, "it has no jobs, and none to come")
		return
	}
	for i, k := range kinds {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s and %d to come, of %s: %s\n", show.Plural(k.Jobs, "job"), k.ToCome, k.Share, needWords(k.Needs))
		g := show.New(w, "queue", "state", ">pilots", "runs", "reason")
		for _, q := range k.Queues {
			runs := show.Pick(q.Runs, "yes", "no")
			if q.Remote {
				runs = "after others"
			}
			g.Row(q.Queue, g.State(string(q.State)), q.Pilots, runs, q.Reason)
		}
		g.Flush()
	}
}

// needWords is what jobs need, in a line.
func needWords(n wire.Requirements) string {
	words := []string{fmt.Sprintf("cores %d", n.Cores)}
	for _, f := range []struct {
		name  string
		value int64
	}{{"memory_mb", n.MemoryMB}, {"disk_mb", n.DiskMB}, {"walltime_s", n.WalltimeS}} {
		if f.value > 0 {
			words = append(words, fmt.Sprintf("%s %d", f.name, f.value))
		}
	}
	if len(n.Queues) > 0 {
		words = append(words, "queues "+strings.Join(n.Queues, " "))
	}
	if len(n.Labels) > 0 {
		words = append(words, "labels "+show.Labels(n.Labels))
	}
	if n.Containers {
		words = append(words, "containers")
	}
	if n.Locality != "" {
		words = append(words, n.Locality+" near "+strings.Join(n.Locations, " "))
	}
	return strings.Join(words, ", ")
}
