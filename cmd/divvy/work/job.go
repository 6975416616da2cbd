package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Job looks at single jobs.
func Job(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "job", Aliases: []string{"jobs"}, Short: "Jobs: the units that pilots run"}
	group.AddCommand(jobListCommand(c), jobLogsCommand(c), jobExplainCommand(c),
		&cobra.Command{Use: "show JOB", Short: "Show a job with its attempts", Args: cli.Takes("JOB, the id of a job"), RunE: cli.ByID(c, "job", func(ctx context.Context, cl *client.Client, id int64) (wire.JobRow, error) {
			return cl.Jobs().Get(ctx, id)
		}, writeJob)},
		&cobra.Command{Use: "kill JOB...", Short: "Cancel jobs; a leased one is told so at its pilot's next heartbeat", Args: cli.Takes("JOB..., the ids of jobs"),
			RunE: c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error { return jobKill(ctx, c, cl, args) })})
	return group
}

func jobListCommand(c *cli.CLI) *cobra.Command {
	var filter client.JobFilter
	cmd := cli.Listing(c, &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List jobs, live and ended, by id; of a user or share the newest task first"}, "jobs",
		func(ctx context.Context, cl *client.Client, after string, limit int) (wire.Page[wire.JobRow], error) {
			filter.After, filter.Limit = after, limit
			return cl.Jobs().List(ctx, filter)
		}, writeJobs)
	cmd.Flags().Int64Var(&filter.Task, "task", 0, "only jobs of this task")
	cmd.Flags().StringVar(&filter.User, "user", "", "only jobs of this user's tasks")
	cmd.Flags().StringVar(&filter.Share, "share", "", "only jobs of this share and those below it")
	cmd.Flags().StringVar(&filter.Queue, "queue", "", "only jobs leased at this queue; with an ended --state, whose last attempt was there")
	cmd.Flags().StringVar(&filter.State, "state", "", "only jobs in this state: waiting, ready, leased, finished, failed, cancelled")
	_ = cmd.RegisterFlagCompletionFunc("state", cli.Fixed("waiting", "ready", "leased", "finished", "failed", "cancelled"))
	return cmd
}

func jobKill(ctx context.Context, c *cli.CLI, cl *client.Client, args []string) error {
	ids, err := cli.ParseIDs("job", args)
	if err != nil {
		return err
	}
	done := []wire.Killed{}
	var failed error
	for _, id := range ids {
		k, err := cl.Jobs().Kill(ctx, id)
		if err != nil {
			failed = fmt.Errorf("job %d: %w", id, err)
			break // what was killed before is said first
		}
		done = append(done, k)
	}
	if failed != nil && len(done) == 0 {
		return failed
	}
	err = c.Print(wire.Page[wire.Killed]{Items: done}, func(w io.Writer) {
		for _, k := range done {
			text := "is " + k.State
			if k.State == "leased" {
				text = "is leased; its pilot ends it at the next heartbeat"
			}
			fmt.Fprintf(w, "job %d %s\n", k.Job, text)
		}
	})
	return errors.Join(failed, err)
}

func writeJobs(w cli.Paper, page wire.Page[wire.JobRow]) {
	show.Table[wire.JobRow]{
		Heads: []string{">job", ">task", "share", "state", ">attempt", "queue", ">age"},
		Wide:  []string{">priority", ">index", "pilot", "inputs", "reason"},
		Row: func(g *show.Grid, j wire.JobRow) []any {
			return []any{j.ID, j.Task, j.Share, g.State(j.State), fmt.Sprintf("%d/%d", j.Attempt, j.MaxAttempts), show.OrDash(j.Queue), show.Age(w.Now, j.CreatedAt),
				j.Priority, j.Index, show.OrDash(j.Pilot), show.OrDash(strings.Join(j.Inputs, " ")), show.OrDash(j.Reason)}
		},
	}.Write(w, page.Items, w.Wide)
	cli.More(w, page.Next)
}

func writeJob(w cli.Paper, j wire.JobRow) {
	now := w.Now
	g := show.NewFacts(w)
	g.Row("job", fmt.Sprint(j.ID))
	g.Row("task", j.Task)
	g.Row("share", j.Share)
	g.Row("state", g.State(j.State))
	g.Some("reason", j.Reason)
	if j.TryAt != nil {
		g.Row("tried again", "in "+j.TryAt.Sub(now).Round(time.Second).String())
	}
	g.Row("priority", j.Priority)
	g.Row("attempt", fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts))
	g.Row("index", j.Index)
	g.Some("inputs", strings.Join(j.Inputs, "\n"))
	if j.FirstEvent != nil && len(j.Inputs) < 2 {
		g.Row("events", fmt.Sprintf("%d from %d on", j.Events, *j.FirstEvent))
	} else if j.Events > 0 {
		g.Row("events", j.Events)
	}
	if j.RetryOf != 0 {
		g.Row("retry of", j.RetryOf)
	}
	if j.HalfOf != 0 {
		g.Row("half of", j.HalfOf)
	}
	g.Row("created", show.Age(now, j.CreatedAt)+" ago")
	g.Some("ended", ago(now, j.EndedAt))
	g.Flush()
	if len(j.Attempts) == 0 {
		return
	}
	fmt.Fprintln(w)
	a := show.New(w, ">attempt", "state", "queue", "pilot", "node", ">took", ">exit", ">cpu s", ">memory mb", "message")
	for _, t := range j.Attempts {
		a.Row(t.Attempt, a.State(t.State), t.Queue, t.Pilot, show.OrDash(t.Node), show.Took(t, now), exitCode(t.ExitCode),
			fmt.Sprintf("%.1f", t.Usage.CPUSeconds), t.Usage.MemoryMB, show.OrDash(t.Message))
	}
	a.Flush()
	for _, t := range j.Attempts {
		if t.Meaning != "" {
			fmt.Fprintf(w, "\nattempt %d: %s\n", t.Attempt, t.Meaning)
		}
		if t.Judged != "" {
			fmt.Fprintf(w, "\nafter attempt %d: %s\n", t.Attempt, t.Judged)
		}
		writeNamed(w, "outputs", t, t.Outputs)
		writeNamed(w, "report", t, t.Report)
	}
}

// writeNamed writes what was said of an attempt, by name; text as it is, all else as JSON.
func writeNamed(w io.Writer, what string, a wire.Attempt, said map[string]any) {
	if len(said) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s of attempt %d\n", what, a.Attempt)
	g := show.NewFacts(w)
	for _, name := range slices.Sorted(maps.Keys(said)) {
		text, ok := said[name].(string)
		if !ok {
			b, _ := json.Marshal(said[name]) // it was read from JSON
			text = string(b)
		}
		g.Row(name, show.OrDash(text))
	}
	g.Flush()
}

func exitCode(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// ago is how long ago something was; empty: it was not.
func ago(now time.Time, t *time.Time) string {
	if t == nil {
		return ""
	}
	return show.Age(now, *t) + " ago"
}
