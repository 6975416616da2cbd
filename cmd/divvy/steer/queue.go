package steer

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// Queue shows queues and opens and closes them.
func Queue(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "queue", Aliases: []string{"queues"}, Short: "Queues: where pilots run"}
	group.AddCommand(
		&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the queues as they stand", Args: cli.Takes(),
			RunE: c.Run(queueList)},
		&cobra.Command{Use: "show QUEUE", Short: "Show one queue", Args: cli.Takes("QUEUE, the name of a queue"), RunE: c.Run(queueShow)},
	)
	for _, v := range []struct {
		state shares.QueueState
		short string
	}{
		{shares.Drain, "Give a queue no new jobs; those that it runs go on"},
		{shares.Online, "Give a queue jobs again"},
		{shares.Test, "Give a queue only jobs that ask for it, by its name or a label"},
		{shares.Offline, "Take a queue out: no new jobs, and its slots are not capacity"},
	} {
		group.AddCommand(&cobra.Command{Use: string(v.state) + " QUEUE...", Short: v.short, Args: cli.Takes("QUEUE..., the names of queues"),
			RunE: c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
				return queueSet(ctx, c, cl, args, v.state)
			})})
	}
	return group
}

func queueList(ctx context.Context, c *cli.CLI, cl *client.Client, _ []string) error {
	queues, err := cl.Queues(ctx)
	if err != nil {
		return err
	}
	return c.Print(client.Page[client.Queue]{Items: queues}, func(w io.Writer) { writeQueues(w, queues, c.Wide()) })
}

func queueShow(ctx context.Context, c *cli.CLI, cl *client.Client, args []string) error {
	q, err := cl.Queue(ctx, args[0])
	if err != nil {
		return err
	}
	return c.Print(q, func(w io.Writer) { writeQueue(w, q) })
}

func queueSet(ctx context.Context, c *cli.CLI, cl *client.Client, names []string, state shares.QueueState) error {
	var done []dispatcher.QueueStanding
	for _, name := range names {
		q, err := cl.SetQueueState(ctx, name, state)
		if err != nil {
			return err
		}
		done = append(done, q)
	}
	return c.Print(client.Page[client.Queue]{Items: done}, func(w io.Writer) {
		for _, q := range done {
			fmt.Fprintf(w, "queue %s is %s; it runs %d jobs\n", q.Name, show.ColourState(string(q.State), show.Colourful(w)), q.HeldJobs)
		}
	})
}

func writeQueues(w io.Writer, queues []dispatcher.QueueStanding, wide bool) {
	headers := []string{"queue", "state", ">slots", ">held", ">jobs", ">ready", ">pilots", ">waiting"}
	if wide {
		headers = append(headers, "pool", ">core power", ">cores", ">memory mb", ">disk mb", ">walltime", "labels")
	}
	g := show.New(w, headers...)
	for _, q := range queues {
		state := g.State(string(q.State))
		if q.BlackHole != nil {
			state += " (black hole)"
		}
		cells := []any{q.Name, state, show.Slots(q.Slots), q.HeldCores, q.HeldJobs, q.Ready, q.Pilots, q.Waiting}
		if wide {
			cells = append(cells, q.Pool, show.Units(float64(q.CorePowerMilli)/1000), show.Limit(int64(q.Cores)), show.Limit(q.MemoryMB),
				show.Limit(q.DiskMB), show.Seconds(q.WalltimeS), show.Labels(q.Labels))
		}
		g.Row(cells...)
	}
	g.Flush()
}

func writeQueue(w io.Writer, q dispatcher.QueueStanding) {
	g := show.NewFacts(w)
	g.Row("queue", q.Name)
	g.Row("state", g.State(string(q.State)))
	if h := q.BlackHole; h != nil {
		g.Row("black hole", fmt.Sprintf("since %s: %d of %d attempts had failed; it gets a job now and then, %d finished in a row",
			h.Since.Format(time.RFC3339), h.Fails, h.Ends, h.Good))
	}
	g.Row("pool", q.Pool)
	g.Row("slots", show.Slots(q.Slots))
	g.Row("held cores", q.HeldCores)
	g.Row("held jobs", q.HeldJobs)
	g.Row("ready jobs that fit", q.Ready)
	g.Row("pilots, last 5 minutes", q.Pilots)
	g.Row("pulls that wait", q.Waiting)
	g.Row("core power", show.Units(float64(q.CorePowerMilli)/1000))
	g.Row("most cores a job", show.Limit(int64(q.Cores)))
	g.Row("most memory", show.Limit(q.MemoryMB))
	g.Row("most disk", show.Limit(q.DiskMB))
	g.Row("longest job", show.Seconds(q.WalltimeS))
	if q.MaxIO > 0 {
		g.Row("max i/o", fmt.Sprintf("%s MB/s, of which %s are held", shares.Units(q.MaxIO), shares.Units(q.HeldIO)))
	}
	g.Row("labels", show.Labels(q.Labels))
	for _, f := range []struct {
		name string
		of   []string
	}{{"shares", q.AllowShares}, {"not for shares", q.DenyShares}, {"near", q.Locations}} {
		if len(f.of) > 0 {
			g.Row(f.name, strings.Join(f.of, ", "))
		}
	}
	g.Row("prefer", show.OrDash(q.Prefer))
	g.Flush()
}
