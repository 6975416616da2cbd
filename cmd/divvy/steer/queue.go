package steer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares"
)

// Queue shows queues and opens and closes them.
func Queue(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "queue", Aliases: []string{"queues"}, Short: "Queues: where pilots run"}
	group.AddCommand(
		&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the queues as they stand", Args: cli.Takes(),
			RunE: cli.Items(c, func(ctx context.Context, cl *client.Client, _ []string) ([]wire.QueueStanding, error) {
				return cl.Queues().List(ctx)
			}, cli.Rows(queueTable))},
		&cobra.Command{Use: "show QUEUE", Short: "Show one queue", Args: cli.Takes("QUEUE, the name of a queue"),
			RunE: cli.Answer(c, func(ctx context.Context, cl *client.Client, args []string) (wire.QueueStanding, error) {
				return cl.Queues().Get(ctx, args[0])
			}, writeQueue)},
		&cobra.Command{Use: "wanted QUEUE", Short: "Show how many pilots a queue should have, and why", Args: cli.Takes("QUEUE, the name of a queue"),
			Example: "  divvy queue wanted CERN\n  divvy queue wanted CERN -o json",
			RunE: cli.Answer(c, func(ctx context.Context, cl *client.Client, args []string) (wire.QueueWanted, error) {
				return cl.Queues().Wanted(ctx, args[0], "")
			}, writeWanted)},
	)
	for _, v := range []struct {
		state wire.QueueState
		short string
	}{
		{wire.QueueDrain, "Give a queue no new jobs; those that it runs go on"},
		{wire.QueueOnline, "Give a queue jobs again"},
		{wire.QueueTest, "Give a queue only jobs that ask for it, by its name or a label"},
		{wire.QueueOffline, "Take a queue out: no new jobs, and its slots are not capacity"},
	} {
		group.AddCommand(&cobra.Command{Use: string(v.state) + " QUEUE...", Short: v.short, Args: cli.Takes("QUEUE..., the names of queues"),
			RunE: cli.Each(c, func(ctx context.Context, cl *client.Client, name string) (wire.QueueStanding, error) {
				return cl.Queues().SetState(ctx, name, v.state)
			},
				func(to cli.Paper, q wire.QueueStanding) {
					fmt.Fprintf(to, "queue %s is %s; it runs %d jobs\n", q.Name, show.ColourState(string(q.State), show.Colourful(to.Writer)), q.HeldJobs)
				})})
	}
	return group
}

var queueTable = show.Table[wire.QueueStanding]{
	Heads: []string{"queue", "state", ">slots", ">held", ">jobs", ">ready", ">pilots", ">waiting"},
	Wide:  []string{"pool", ">core power", ">cores", ">memory mb", ">disk mb", ">walltime", "labels"},
	Row: func(g *show.Grid, q wire.QueueStanding) []any {
		return []any{q.Name, g.State(string(q.State)) + show.Pick(q.BlackHole == nil, "", " (black hole)"), show.Slots(q.Slots), q.HeldCores, q.HeldJobs, q.Ready, q.Pilots, q.Waiting,
			q.Pool, show.Units(float64(q.CorePowerMilli) / 1000), show.Limit(int64(q.Cores)), show.Limit(q.MemoryMB), show.Limit(q.DiskMB), show.Seconds(q.WalltimeS), show.Labels(q.Labels)}
	},
}

func writeQueue(w cli.Paper, q wire.QueueStanding) {
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
	if q.Wanted != nil {
		g.Row("pilots wanted", fmt.Sprintf("%d, of which %d are alive", q.Wanted.Wanted, q.Wanted.Alive))
	}
	g.Row("core power", show.Units(float64(q.CorePowerMilli)/1000))
	g.Row("most cores a job", show.Limit(int64(q.Cores)))
	g.Row("most memory", show.Limit(q.MemoryMB))
	g.Row("most disk", show.Limit(q.DiskMB))
	g.Row("longest job", show.Seconds(q.WalltimeS))
	if q.MaxIO > 0 {
		g.Row("max i/o", fmt.Sprintf("%s MB/s, of which %s are held", shares.Units(q.MaxIO), shares.Units(q.HeldIO)))
	}
	g.Row("labels", show.Labels(q.Labels))
	g.Some("containers", q.Containers)
	g.Some("shares", strings.Join(q.AllowShares, ", "))
	g.Some("not for shares", strings.Join(q.DenyShares, ", "))
	g.Some("near", strings.Join(q.Locations, ", "))
	g.Row("prefer", show.OrDash(q.Prefer))
	g.Flush()
}
