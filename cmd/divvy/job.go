package main

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
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher"
)

// jobCommand looks at single jobs.
func jobCommand(c *cli) *cobra.Command {
	group := &cobra.Command{Use: "job", Aliases: []string{"jobs"}, Short: "Jobs: the units that pilots run"}
	group.AddCommand(jobListCommand(c), jobLogsCommand(c), jobExplainCommand(c),
		&cobra.Command{Use: "show JOB", Short: "Show a job with its attempts", Args: takes("JOB, the id of a job"), RunE: c.withClient(c.jobShow)},
		&cobra.Command{Use: "kill JOB...", Short: "Cancel jobs; a leased one is told so at its pilot's next heartbeat", Args: takes("JOB..., the ids of jobs"),
			RunE: c.withClient(c.jobKill)})
	return group
}

func jobListCommand(c *cli) *cobra.Command {
	var filter client.JobFilter
	var all bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List jobs, live and ended, by id; of a user or share the newest task first", Args: takes(),
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			page, err := gather(pages{all, filter.After, filter.Limit}, func(after string, limit int) (client.Page[dispatcher.JobRow], error) {
				f := filter
				f.After, f.Limit = after, limit
				return cl.Jobs(ctx, f)
			})
			if err != nil {
				return err
			}
			return c.print(page, func(w io.Writer) { writeJobs(w, page, c.wide(), time.Now()) })
		})}
	cmd.Flags().Int64Var(&filter.Task, "task", 0, "only jobs of this task")
	cmd.Flags().StringVar(&filter.User, "user", "", "only jobs of this user's tasks")
	cmd.Flags().StringVar(&filter.Share, "share", "", "only jobs of this share and those below it")
	cmd.Flags().StringVar(&filter.Queue, "queue", "", "only jobs leased at this queue; with an ended --state, whose last attempt was there")
	cmd.Flags().StringVar(&filter.State, "state", "", "only jobs in this state: waiting, ready, leased, finished, failed, cancelled")
	_ = cmd.RegisterFlagCompletionFunc("state", fixed("waiting", "ready", "leased", "finished", "failed", "cancelled"))
	cmd.Flags().IntVar(&filter.Limit, "limit", 100, "jobs a page, 1 to 1000")
	cmd.Flags().StringVar(&filter.After, "after", "", "go on after a page: its 'next'")
	cmd.Flags().BoolVar(&all, "all", false, "all pages")
	return cmd
}

func (c *cli) jobShow(ctx context.Context, cl *client.Client, args []string) error {
	id, err := parseID("job", args[0])
	if err != nil {
		return err
	}
	j, err := cl.Job(ctx, id)
	if err != nil {
		return err
	}
	return c.print(j, func(w io.Writer) { writeJob(w, j, time.Now()) })
}

func (c *cli) jobKill(ctx context.Context, cl *client.Client, args []string) error {
	ids, err := parseIDs("job", args)
	if err != nil {
		return err
	}
	done := []client.Killed{}
	var failed error
	for _, id := range ids {
		k, err := cl.KillJob(ctx, id)
		if err != nil {
			failed = fmt.Errorf("job %d: %w", id, err)
			break // what was killed before is said first
		}
		done = append(done, k)
	}
	if failed != nil && len(done) == 0 {
		return failed
	}
	err = c.print(client.Page[client.Killed]{Items: done}, func(w io.Writer) {
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

func jobLogsCommand(c *cli) *cobra.Command {
	var attempt int
	cmd := &cobra.Command{Use: "logs JOB", Aliases: []string{"log"}, Short: "Print the end of what an attempt wrote", Args: takes("JOB, the id of a job"),
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, args []string) error {
			id, err := parseID("job", args[0])
			if err != nil {
				return err
			}
			log, err := cl.JobLog(ctx, id, attempt)
			if err != nil {
				return err
			}
			return c.print(log, func(w io.Writer) {
				io.WriteString(w, log.Tail)
				if log.Tail != "" && !strings.HasSuffix(log.Tail, "\n") {
					io.WriteString(w, "\n")
				}
			})
		})}
	cmd.Flags().IntVar(&attempt, "attempt", 0, "which attempt; 0 = the last one")
	return cmd
}

func writeJobs(w io.Writer, page client.Page[dispatcher.JobRow], wide bool, now time.Time) {
	headers := []string{">job", ">task", "share", "state", ">attempt", "queue", ">age"}
	if wide {
		headers = append(headers, ">priority", ">index", "pilot", "inputs", "reason")
	}
	g := newGrid(w, headers...)
	for _, j := range page.Items {
		cells := []any{j.ID, j.Task, j.Share, g.state(j.State), fmt.Sprintf("%d/%d", j.Attempt, j.MaxAttempts), orDash(j.Queue), age(now, j.CreatedAt)}
		if wide {
			cells = append(cells, j.Priority, j.Index, orDash(j.Pilot), orDash(strings.Join(j.Inputs, " ")), orDash(j.Reason))
		}
		g.row(cells...)
	}
	g.flush()
	more(w, page.Next)
}

func writeJob(w io.Writer, j dispatcher.JobRow, now time.Time) {
	g := newFacts(w)
	g.row("job", fmt.Sprint(j.ID))
	g.row("task", j.Task)
	g.row("share", j.Share)
	g.row("state", g.state(j.State))
	if j.Reason != "" {
		g.row("reason", j.Reason)
	}
	if j.TryAt != nil {
		g.row("tried again", "in "+j.TryAt.Sub(now).Round(time.Second).String())
	}
	g.row("priority", j.Priority)
	g.row("attempt", fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts))
	g.row("index", j.Index)
	if len(j.Inputs) > 0 {
		g.row("inputs", strings.Join(j.Inputs, "\n"))
	}
	if j.FirstEvent != nil && len(j.Inputs) < 2 {
		g.row("events", fmt.Sprintf("%d from %d on", j.Events, *j.FirstEvent))
	} else if j.Events > 0 {
		g.row("events", j.Events)
	}
	if j.RetryOf != 0 {
		g.row("retry of", j.RetryOf)
	}
	if j.HalfOf != 0 {
		g.row("half of", j.HalfOf)
	}
	g.row("created", age(now, j.CreatedAt)+" ago")
	if j.EndedAt != nil {
		g.row("ended", age(now, *j.EndedAt)+" ago")
	}
	g.flush()
	if len(j.Attempts) == 0 {
		return
	}
	fmt.Fprintln(w)
	a := newGrid(w, ">attempt", "state", "queue", "pilot", "node", ">took", ">exit", ">cpu s", ">memory mb", "message")
	for _, t := range j.Attempts {
		a.row(t.Attempt, a.state(t.State), t.Queue, t.Pilot, orDash(t.Node), took(t, now), exitCode(t.ExitCode),
			fmt.Sprintf("%.1f", t.Usage.CPUSeconds), t.Usage.MemoryMB, orDash(t.Message))
	}
	a.flush()
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
func writeNamed(w io.Writer, what string, a dispatcher.Attempt, said map[string]any) {
	if len(said) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s of attempt %d\n", what, a.Attempt)
	g := newFacts(w)
	for _, name := range slices.Sorted(maps.Keys(said)) {
		text, ok := said[name].(string)
		if !ok {
			b, _ := json.Marshal(said[name]) // it was read from JSON
			text = string(b)
		}
		g.row(name, orDash(text))
	}
	g.flush()
}

// took is how long an attempt held its slot.
func took(a dispatcher.Attempt, now time.Time) string {
	if a.EndedAt != nil {
		now = *a.EndedAt
	}
	return now.Sub(a.ClaimedAt).Round(100 * time.Millisecond).String()
}

func exitCode(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// more says how to go on after a page that is not the last one.
func more(w io.Writer, next string) {
	if next != "" {
		fmt.Fprintf(w, "… more: --after %s, or --all\n", next)
	}
}

// pages are what a list asks for: all that follows, or one of so many items.
type pages struct {
	all   bool
	after string
	limit int
}

// mostPages bounds how many are read to fill one: a daemon looks at so many items for each, and few of them may be wanted.
const mostPages = 100

// gather reads one page, or with all everything that follows. One that is short and not the last is filled up.
func gather[T any](want pages, read func(after string, limit int) (client.Page[T], error)) (client.Page[T], error) {
	page, err := read(want.after, want.limit)
	for n := 1; err == nil && page.Next != ""; n++ {
		left := want.limit
		if !want.all {
			if left -= len(page.Items); left <= 0 || n >= mostPages {
				break
			}
		}
		var next client.Page[T]
		next, err = read(page.Next, left)
		page.Items, page.Next = append(page.Items, next.Items...), next.Next
	}
	return page, err
}

func parseID(what, s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, fail.Usagef("%q is not the id of a %s: expected a whole number such as 17; 'divvy %s list' has them", s, what, what)
	}
	return id, nil
}

func parseIDs(what string, args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, s := range args {
		id, err := parseID(what, s)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
