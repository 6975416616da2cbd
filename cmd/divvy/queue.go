package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// queueCommand shows queues and opens and closes them.
func queueCommand(c *cli) *cobra.Command {
	group := &cobra.Command{Use: "queue", Aliases: []string{"queues"}, Short: "Queues: where pilots run"}
	group.AddCommand(
		&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the queues as they stand", Args: takes(),
			RunE: c.withClient(c.queueList)},
		&cobra.Command{Use: "show QUEUE", Short: "Show one queue", Args: takes("QUEUE, the name of a queue"), RunE: c.withClient(c.queueShow)},
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
		group.AddCommand(&cobra.Command{Use: string(v.state) + " QUEUE...", Short: v.short, Args: takes("QUEUE..., the names of queues"),
			RunE: c.withClient(func(ctx context.Context, cl *client.Client, args []string) error {
				return c.queueSet(ctx, cl, args, v.state)
			})})
	}
	return group
}

func (c *cli) queueList(ctx context.Context, cl *client.Client, _ []string) error {
	queues, err := cl.Queues(ctx)
	if err != nil {
		return err
	}
	return c.print(client.Page[client.Queue]{Items: queues}, func(w io.Writer) { writeQueues(w, queues, c.wide()) })
}

func (c *cli) queueShow(ctx context.Context, cl *client.Client, args []string) error {
	q, err := cl.Queue(ctx, args[0])
	if err != nil {
		return err
	}
	return c.print(q, func(w io.Writer) { writeQueue(w, q) })
}

func (c *cli) queueSet(ctx context.Context, cl *client.Client, names []string, state shares.QueueState) error {
	var done []dispatcher.QueueStanding
	for _, name := range names {
		q, err := cl.SetQueueState(ctx, name, state)
		if err != nil {
			return err
		}
		done = append(done, q)
	}
	return c.print(client.Page[client.Queue]{Items: done}, func(w io.Writer) {
		for _, q := range done {
			fmt.Fprintf(w, "queue %s is %s; it runs %d jobs\n", q.Name, colourState(string(q.State), colourful(w)), q.HeldJobs)
		}
	})
}

func writeQueues(w io.Writer, queues []dispatcher.QueueStanding, wide bool) {
	headers := []string{"queue", "state", ">slots", ">held", ">jobs", ">ready", ">pilots", ">waiting"}
	if wide {
		headers = append(headers, "pool", ">core power", ">cores", ">memory mb", ">disk mb", ">walltime", "labels")
	}
	g := newGrid(w, headers...)
	for _, q := range queues {
		state := g.state(string(q.State))
		if q.BlackHole != nil {
			state += " (black hole)"
		}
		cells := []any{q.Name, state, slots(q.Slots), q.HeldCores, q.HeldJobs, q.Ready, q.Pilots, q.Waiting}
		if wide {
			cells = append(cells, q.Pool, units(float64(q.CorePowerMilli)/1000), limit(int64(q.Cores)), limit(q.MemoryMB),
				limit(q.DiskMB), seconds(q.WalltimeS), labels(q.Labels))
		}
		g.row(cells...)
	}
	g.flush()
}

func writeQueue(w io.Writer, q dispatcher.QueueStanding) {
	g := newFacts(w)
	g.row("queue", q.Name)
	g.row("state", g.state(string(q.State)))
	if h := q.BlackHole; h != nil {
		g.row("black hole", fmt.Sprintf("since %s: %d of %d attempts had failed; it gets a job now and then, %d finished in a row",
			h.Since.Format(time.RFC3339), h.Fails, h.Ends, h.Good))
	}
	g.row("pool", q.Pool)
	g.row("slots", slots(q.Slots))
	g.row("held cores", q.HeldCores)
	g.row("held jobs", q.HeldJobs)
	g.row("ready jobs that fit", q.Ready)
	g.row("pilots, last 5 minutes", q.Pilots)
	g.row("pulls that wait", q.Waiting)
	g.row("core power", units(float64(q.CorePowerMilli)/1000))
	g.row("most cores a job", limit(int64(q.Cores)))
	g.row("most memory", limit(q.MemoryMB))
	g.row("most disk", limit(q.DiskMB))
	g.row("longest job", seconds(q.WalltimeS))
	if q.MaxIO > 0 {
		g.row("max i/o", fmt.Sprintf("%s MB/s, of which %s are held", shares.Units(q.MaxIO), shares.Units(q.HeldIO)))
	}
	g.row("labels", labels(q.Labels))
	for _, f := range []struct {
		name string
		of   []string
	}{{"shares", q.AllowShares}, {"not for shares", q.DenyShares}, {"near", q.Locations}} {
		if len(f.of) > 0 {
			g.row(f.name, strings.Join(f.of, ", "))
		}
	}
	g.row("prefer", orDash(q.Prefer))
	g.flush()
}

func slots(n *int) string {
	if n == nil {
		return "unlimited"
	}
	return strconv.Itoa(*n)
}

func limit(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func seconds(s int64) string {
	if s == 0 {
		return "-"
	}
	return config.ShortDuration(time.Duration(s) * time.Second)
}

// labels prints key=value pairs in the order of the keys.
func labels(m map[string]string) string {
	pairs := make([]string, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, k+"="+v)
	}
	sort.Strings(pairs)
	return orDash(strings.Join(pairs, ","))
}
