package work

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/generator/view"
)

// Task submits and steers tasks.
func Task(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "task", Aliases: []string{"tasks"}, Short: "Tasks: what users ask for"}
	group.AddCommand(taskSubmitCommand(c), taskListCommand(c), taskReassignCommand(c), taskPriorityCommand(c), taskScaleCommand(c), taskCloneCommand(c),
		taskQueuesCommand(c),
		taskExplainCommand(c),
		&cobra.Command{Use: "show TASK", Short: "Show a task", Args: cli.Takes("TASK, the id of a task"), RunE: cli.ByID(c, "task", func(ctx context.Context, cl *client.Client, id int64) (wire.Task, error) {
			return cl.Tasks().Get(ctx, id)
		}, writeTask)})
	group.AddCommand(taskVerbCommands(c)...)
	return group
}

func taskListCommand(c *cli.CLI) *cobra.Command {
	f := client.TaskFilter{Newest: true}
	cmd := cli.Listing(c, &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List tasks: those that are not over first, the newest on top"}, "tasks",
		func(ctx context.Context, cl *client.Client, after string, limit int) (wire.Page[wire.Task], error) {
			f.After, f.Limit = after, limit
			return cl.Tasks().List(ctx, f)
		}, writeTasks)
	fl := cmd.Flags()
	fl.StringVar(&f.User, "user", "", "only tasks of this user")
	fl.StringSliceVar(&f.State, "state", nil, "only tasks in this state, or one of several: ready,running")
	fl.StringVar(&f.Share, "share", "", "only tasks of this share and those below it")
	fl.StringVar(&f.Label, "label", "", "only tasks with this label")
	_ = cmd.RegisterFlagCompletionFunc("state", cli.Fixed("submitting", "waiting", "ready", "scouting", "running", "paused", "throttled",
		"exhausted", "finishing", "done", "finished", "failed", "aborting", "aborted"))
	return cmd
}

// taskChange says what a verb did, in words.
func taskChange(ch wire.TaskChange) string {
	if ch.Before == ch.After && ch.Ready == 0 && ch.Leased == 0 && ch.Again == 0 {
		return fmt.Sprintf("task %d is %s: nothing to do", ch.Task, ch.After)
	}
	var parts []string
	if ch.Ready > 0 {
		parts = append(parts, fmt.Sprintf("%d jobs that did not run", ch.Ready))
	}
	if ch.Leased > 0 {
		parts = append(parts, fmt.Sprintf("%d leased jobs told to end", ch.Leased))
	}
	if ch.Again > 0 {
		parts = append(parts, fmt.Sprintf("%d pieces to try again", ch.Again))
	}
	s := fmt.Sprintf("task %d: %s → %s", ch.Task, ch.Before, ch.After)
	if len(parts) > 0 {
		s += "; " + strings.Join(parts, ", ")
	}
	return s
}

func writeTasks(w cli.Paper, page wire.Page[wire.Task]) {
	watched := slices.ContainsFunc(page.Items, func(t wire.Task) bool { return t.Deadline != nil })
	stuck := slices.ContainsFunc(page.Items, func(t wire.Task) bool { return t.CannotRun != "" })
	table := show.Table[wire.Task]{
		Heads: []string{">task", "name", "user", "share", "state", ">jobs", ">ready", ">leased", ">finished", ">failed", ">age"},
		Wide:  []string{">priority", ">waiting", ">cancelled", ">attempts", "reason"},
		Row: func(g *show.Grid, t wire.Task) []any {
			j := t.Jobs
			cells := []any{t.ID, t.Name, t.User, show.OrDash(t.Share), g.State(t.State), j.Total, j.Ready, j.Leased, j.Finished, j.Failed, show.Age(w.Now, t.CreatedAt)}
			if watched {
				cells = append(cells, lateRisk(t))
			}
			reason := show.OrDash(cmp.Or(t.CannotRun, t.Reason))
			if !w.Wide {
				return append(cells, reason)
			}
			return append(cells, t.Priority, j.Waiting, j.Cancelled, t.MaxAttempts, reason)
		},
	}
	if watched {
		table.Heads = append(table.Heads, "late risk")
	}
	if stuck && !w.Wide {
		table.Heads = append(table.Heads, "reason")
	}
	table.Write(w, page.Items, w.Wide)
	cli.More(w, page.Next)
}

func writeTask(w cli.Paper, t wire.Task) {
	now := w.Now
	g := show.NewFacts(w)
	g.Row("task", fmt.Sprint(t.ID))
	g.Row("name", t.Name)
	g.Row("user", t.User)
	g.Row("share", show.OrDash(t.Share))
	g.Some("share of jobs", t.JobShare)
	g.Row("state", g.State(t.State))
	g.Some("reason", t.Reason)
	g.Some("cannot run", t.CannotRun)
	g.Row("priority", t.Priority)
	g.Row("attempts a job", t.MaxAttempts)
	g.Row("pieces", t.Pieces)
	j := t.Jobs
	g.Row("jobs", fmt.Sprintf("%d: %d waiting, %d ready, %d leased, %d finished, %d failed, %d cancelled",
		j.Total, j.Waiting, j.Ready, j.Leased, j.Finished, j.Failed, j.Cancelled))
	g.Row("created", show.Age(now, t.CreatedAt)+" ago")
	g.Some("started", ago(now, t.StartedAt))
	g.Some("ended", ago(now, t.EndedAt))
	g.Row("attributes", show.Labels(t.Attributes))
	g.Row("site version", t.SiteVersion)
	if t.Scouts > 0 {
		g.Row("scouts", scouts(t))
	}
	if t.Deadline != nil {
		g.Row("deadline", deadline(t.Deadline, now))
	}
	for i, n := range t.Needs {
		g.Row(show.Pick(i == 0, "needs", ""), needed(n))
	}
	if len(t.NeededBy) > 0 {
		g.Row("needed by", "task "+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(t.NeededBy)), ", "), "[]"))
	}
	for i, s := range t.Scaled {
		g.Row(show.Pick(i == 0, "scaled", ""), fmt.Sprintf("%s: %d", scaledWhat(s.Group, s.Role), s.Replicas))
	}
	if t.Spec != nil {
		if t.Spec.Split != nil {
			g.Row("split", splitting(t.Spec))
		}
		g.Row("requires", requires(t.Spec))
		g.Row("command", quoted(t.Spec.Command))
	}
	for i, one := range panda.IgnoredOf(view.Task{Parameters: t.Parameters}) {
		g.Row(show.Pick(i == 0, "ignored parameters", ""), one.Parameter+": "+one.Reason)
	}
	g.Flush()
}

// scouts says how many there are, and what they measured.
func scouts(t wire.Task) string {
	m := t.Scouted
	switch {
	case m == nil && t.State == "exhausted":
		return fmt.Sprintf("%d: one has failed; go on nevertheless with divvy task avalanche %d", t.Scouts, t.ID)
	case m == nil:
		return fmt.Sprintf("%d: the rest is made when they have ended", t.Scouts)
	case m.Finished == 0:
		return fmt.Sprintf("%d: ended before one had finished", t.Scouts)
	}
	text := fmt.Sprintf("%d, %d measured: %.3g s CPU an event (95th percentile)", t.Scouts, m.Finished, m.CPUPerEvent)
	if m.OutputPerEvent > 0 {
		text += fmt.Sprintf(", %.3g MB output an event", m.OutputPerEvent)
	}
	return text + fmt.Sprintf(", %d MB memory and walltime %s (75th)", m.MemoryMB, seconds(m.Walltime))
}

func seconds(walltime string) string {
	d, _ := time.ParseDuration(walltime)
	return show.Seconds(int64(d / time.Second))
}

// splitting says how the work is cut into jobs.
func splitting(s *wire.TaskSpec) string {
	p, by := s.Split, s.Split.By
	if by == "" {
		by = show.Pick(s.Events != nil, "events", "inputs")
	}
	if !p.Fit {
		return fmt.Sprintf("%d %s a job", p.PerJob, by)
	}
	text := "by " + by + ", as large as fits " + show.Pick(p.PerQueue, "each queue", "all queues")
	if p.MaxPerJob > 0 {
		text += fmt.Sprintf(", %d at most", p.MaxPerJob)
	}
	if p.PerJob > 0 {
		text += fmt.Sprintf(", %d at most while CPU time is not known", p.PerJob)
	}
	return text
}

// requires names what the task asks of a slot, leaving out what it does not.
func requires(s *wire.TaskSpec) string {
	r := s.Requirements
	parts := []string{show.Plural(int64(r.Cores), "core")}
	add := func(said bool, text string) {
		if said {
			parts = append(parts, text)
		}
	}
	add(r.MemoryMB > 0, show.Limit(r.MemoryMB)+" MB memory")
	add(r.DiskMB > 0, show.Limit(r.DiskMB)+" MB disk")
	add(r.Walltime != "", "walltime "+seconds(r.Walltime))
	add(len(r.Labels) > 0, "labels "+show.Labels(r.Labels))
	add(len(s.Queues) > 0, "queues "+strings.Join(s.Queues, " "))
	parts = append(parts, unitsOf(s.Resources)...)
	add(s.IOIntensity > 0, fmt.Sprintf("%g MB/s of input and output", s.IOIntensity))
	add(s.SharingID != "", "out of the part of "+s.SharingID)
	return strings.Join(parts, ", ")
}

func lateRisk(t wire.Task) string {
	if t.Deadline == nil {
		return "-"
	}
	return t.Deadline.LateRisk
}

// deadline says when a task should be over and when it will be.
func deadline(d *wire.DeadlineState, now time.Time) string {
	text := d.At.Local().Format("2006-01-02 15:04") + ", risk of being late: " + d.LateRisk
	if d.ETA != nil {
		text += fmt.Sprintf(", over in %s at %.3g jobs an hour", show.Seconds(max(int64(d.ETA.Sub(now).Seconds()), 0)), d.PerHour)
	}
	if d.Boosted > 0 {
		text += fmt.Sprintf(", priority raised by %d", d.Boosted)
	}
	return text
}

// needed says what a task needs of another one, and how far that is.
func needed(n wire.NeedState) string {
	text := fmt.Sprintf("task %d (%s, %s), %s", n.Task, n.Name, n.State, show.Pick(n.When == "any", "over in any way", n.When))
	if n.Outputs != "" {
		text += ", outputs " + n.Outputs
	}
	if n.Per == "input" {
		text += ", piece by piece"
	}
	if n.Outputs != "" || n.Per == "input" {
		text += ": " + show.Plural(n.Taken, "job") + " of it seen to end"
	}
	return text + show.Pick(n.Met == "open", "", "; "+n.Met)
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
