package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/panda"
)

// taskCommand submits and steers tasks.
func taskCommand(c *cli) *cobra.Command {
	group := &cobra.Command{Use: "task", Aliases: []string{"tasks"}, Short: "Tasks: what users ask for"}
	group.AddCommand(taskSubmitCommand(c), taskListCommand(c), taskReassignCommand(c), taskPriorityCommand(c), taskScaleCommand(c),
		&cobra.Command{Use: "show TASK", Short: "Show a task", Args: takes("TASK, the id of a task"), RunE: c.withClient(c.taskShow)})
	for _, v := range []struct {
		verb, short string
		do          func(*client.Client, context.Context, int64) (client.TaskChange, error)
	}{
		{"kill", "End tasks and their jobs, those that run too", (*client.Client).Kill},
		{"pause", "Start no more jobs of tasks; those that run go on", (*client.Client).Pause},
		{"resume", "Let paused tasks go on", (*client.Client).Resume},
		{"retry", "Try the pieces that did not finish again, as new jobs", (*client.Client).Retry},
		{"finish", "Start no more jobs; the task is over when those that run have ended", (*client.Client).FinishTask},
	} {
		group.AddCommand(&cobra.Command{Use: v.verb + " TASK...", Short: v.short, Args: takes("TASK..., the ids of tasks"),
			ValidArgsFunction: c.completeTasks,
			RunE: c.withClient(func(ctx context.Context, cl *client.Client, args []string) error {
				return c.taskVerb(ctx, args, func(ctx context.Context, id int64) (client.TaskChange, error) { return v.do(cl, ctx, id) })
			})})
	}
	return group
}

func taskListCommand(c *cli) *cobra.Command {
	var f client.TaskFilter
	var all bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List tasks by id", Args: takes(),
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			page, err := gather(all, f.After, func(after string) (client.Page[client.Task], error) {
				g := f
				g.After = after
				return cl.Tasks(ctx, g)
			})
			if err != nil {
				return err
			}
			return c.print(page, func(w io.Writer) { writeTasks(w, page, c.wide(), time.Now()) })
		})}
	fl := cmd.Flags()
	fl.StringVar(&f.User, "user", "", "only tasks of this user")
	fl.StringVar(&f.State, "state", "", "only tasks in this state")
	fl.StringVar(&f.Share, "share", "", "only tasks of this share and those below it")
	fl.StringVar(&f.Label, "label", "", "only tasks with this label")
	fl.IntVar(&f.Limit, "limit", 100, "tasks a page, 1 to 1000")
	fl.StringVar(&f.After, "after", "", "go on after a page: its 'next'")
	fl.BoolVar(&all, "all", false, "all pages")
	_ = cmd.RegisterFlagCompletionFunc("state", fixed("submitting", "waiting", "ready", "scouting", "running", "paused", "throttled",
		"exhausted", "finishing", "done", "finished", "failed", "aborting", "aborted"))
	return cmd
}

func (c *cli) taskShow(ctx context.Context, cl *client.Client, args []string) error {
	id, err := parseID("task", args[0])
	if err != nil {
		return err
	}
	t, err := cl.Task(ctx, id)
	if err != nil {
		return err
	}
	return c.print(t, func(w io.Writer) { writeTask(w, t, time.Now()) })
}

func (c *cli) taskVerb(ctx context.Context, args []string, do func(context.Context, int64) (client.TaskChange, error)) error {
	ids, err := parseIDs("task", args)
	if err != nil {
		return err
	}
	var done []client.TaskChange
	for _, id := range ids {
		ch, err := do(ctx, id)
		if err != nil {
			return fmt.Errorf("task %d: %w", id, err)
		}
		done = append(done, ch)
	}
	return c.print(client.Page[client.TaskChange]{Items: done}, func(w io.Writer) {
		for _, ch := range done {
			fmt.Fprintln(w, taskChange(ch))
		}
	})
}

// taskChange says what a verb did, in words.
func taskChange(ch client.TaskChange) string {
	if ch.Before == ch.After && ch.Ready == 0 && ch.Leased == 0 && ch.Again == 0 {
		return fmt.Sprintf("task %d is %s: nothing to do", ch.Task, ch.After)
	}
	var parts []string
	if ch.Ready > 0 {
		parts = append(parts, fmt.Sprintf("%d jobs that did not run", ch.Ready))
	}
	if ch.Leased > 0 {
		parts = append(parts, fmt.Sprintf("%d running jobs told to end", ch.Leased))
	}
	if ch.Again > 0 {
		parts = append(parts, fmt.Sprintf("%d pieces to try again", ch.Again))
	}
	if ch.More {
		parts = append(parts, "the rest follows")
	}
	s := fmt.Sprintf("task %d: %s → %s", ch.Task, ch.Before, ch.After)
	if len(parts) > 0 {
		s += "; " + strings.Join(parts, ", ")
	}
	return s
}

func (c *cli) completeTasks(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cl, err := c.quickClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer cl.Close()
	page, err := cl.Tasks(cmd.Context(), client.TaskFilter{Limit: 1000})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []cobra.Completion
	for _, t := range page.Items {
		if t.EndedAt != nil {
			continue
		}
		ids = append(ids, cobra.CompletionWithDesc(fmt.Sprint(t.ID), t.Name+" "+t.State))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func writeTasks(w io.Writer, page client.Page[client.Task], wide bool, now time.Time) {
	headers := []string{">task", "name", "user", "share", "state", ">jobs", ">ready", ">running", ">finished", ">failed", ">age"}
	if wide {
		headers = append(headers, ">priority", ">waiting", ">cancelled", ">attempts", "reason")
	}
	g := newGrid(w, headers...)
	for _, t := range page.Items {
		j := t.Jobs
		cells := []any{t.ID, t.Name, t.User, orDash(t.Share), g.state(t.State), j.Total, j.Ready, j.Running, j.Finished, j.Failed, age(now, t.CreatedAt)}
		if wide {
			cells = append(cells, t.Priority, j.Waiting, j.Cancelled, t.MaxAttempts, orDash(t.Reason))
		}
		g.row(cells...)
	}
	g.flush()
	more(w, page.Next)
}

func writeTask(w io.Writer, t client.Task, now time.Time) {
	g := newFacts(w)
	g.row("task", fmt.Sprint(t.ID))
	g.row("name", t.Name)
	g.row("user", t.User)
	g.row("share", orDash(t.Share))
	if t.JobShare != "" {
		g.row("share of jobs", t.JobShare)
	}
	g.row("state", g.state(t.State))
	if t.Reason != "" {
		g.row("reason", t.Reason)
	}
	g.row("priority", t.Priority)
	g.row("attempts a job", t.MaxAttempts)
	g.row("pieces", t.Pieces)
	j := t.Jobs
	g.row("jobs", fmt.Sprintf("%d: %d waiting, %d ready, %d running, %d finished, %d failed, %d cancelled",
		j.Total, j.Waiting, j.Ready, j.Running, j.Finished, j.Failed, j.Cancelled))
	g.row("created", age(now, t.CreatedAt)+" ago")
	if t.StartedAt != nil {
		g.row("started", age(now, *t.StartedAt)+" ago")
	}
	if t.EndedAt != nil {
		g.row("ended", age(now, *t.EndedAt)+" ago")
	}
	g.row("attributes", labels(t.Attributes))
	g.row("site version", t.SiteVersion)
	for i, s := range t.Scaled {
		g.row(pick(i == 0, "scaled", ""), fmt.Sprintf("%s: %d", scaledWhat(s.Group, s.Role), s.Replicas))
	}
	if t.Spec != nil {
		g.row("requires", requires(t.Spec))
		g.row("command", quoted(t.Spec.Command))
	}
	for i, one := range panda.IgnoredOf(t) {
		g.row(pick(i == 0, "ignored parameters", ""), one.Parameter+": "+one.Reason)
	}
	g.flush()
}

// requires names what the task asks of a slot, leaving out what it does not.
func requires(s *client.TaskSpec) string {
	r := s.Requirements
	parts := []string{plural(int64(r.Cores), "core")}
	add := func(said bool, text string) {
		if said {
			parts = append(parts, text)
		}
	}
	add(r.MemoryMB > 0, limit(r.MemoryMB)+" MB memory")
	add(r.DiskMB > 0, limit(r.DiskMB)+" MB disk")
	add(r.Walltime > 0, "walltime "+seconds(int64(r.Walltime)))
	add(len(r.Labels) > 0, "labels "+labels(r.Labels))
	add(len(s.Queues) > 0, "queues "+strings.Join(s.Queues, " "))
	parts = append(parts, unitsOf(s.Resources)...)
	add(s.SharingID != "", "out of the part of "+s.SharingID)
	return strings.Join(parts, ", ")
}

// plural is "1 job" or "2 jobs".
func plural(n int64, what string) string {
	return fmt.Sprintf("%d %s%s", n, what, pick(n == 1, "", "s"))
}

// quoted prints a command so that a shell would read the same words.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, s := range words {
		if s == "" || strings.ContainsAny(s, " \t\n'\"\\$`*?&|;<>(){}[]#~") {
			s = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
		out[i] = s
	}
	return strings.Join(out, " ")
}
