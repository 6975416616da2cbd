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
	"github.com/divvyhq/divvy/generator/spec"
)

// acting is a command that says something to tasks: to those whose ids it is given, or to all that its flags choose.
type acting struct {
	*cli.CLI
	request wire.ActRequest
}

// choiceFlags lets a command choose tasks; share is the name of the flag for theirs.
func (a *acting) choiceFlags(cmd *cobra.Command, share string) {
	cmd.Long = strings.TrimSpace(cmd.Long + "\n\nTasks are named by their ids, or chosen by flags: all that are given must fit.")
	f := cmd.Flags()
	f.StringVar(&a.request.User, "user", "", "all tasks of this user")
	f.StringVar(&a.request.Label, "label", "", "all tasks with this label")
	f.StringVar(&a.request.Share, share, "", "all tasks of this share and those below it")
	f.StringSliceVar(&a.request.State, "state", nil, "all tasks in one of these states; default: where there is something to do")
	f.StringVar(&a.request.Name, "name", "", "all tasks with this name; * stands for anything")
	f.BoolVar(&a.request.DryRun, "dry-run", false, "only say what would become of which task")
}

// tasksOr checks the arguments of a command that takes ids or chooses: one of the two there must be, not both.
func (a *acting) tasksOr(cmd *cobra.Command, args []string) error {
	r := &a.request
	chosen := r.User != "" || r.Label != "" || r.Share != "" || r.Name != "" || len(r.State) > 0
	switch {
	case len(args) == 0 && !chosen:
		return cli.Takes("TASK..., the ids of tasks")(cmd, args)
	case len(args) > 0 && chosen:
		return cli.WithExample(cmd, fail.Usagef("%s takes ids of tasks, or flags that choose them, not both", cli.Name(cmd)))
	}
	return cli.Takes("TASK..., the ids of tasks")(cmd, append(args, show.Pick(chosen, []string{"0"}, nil)...))
}

// mostActed is how many ids one request takes.
const mostActed = 1000

// act sends requests until no task is left, and says what became of each task.
func (a *acting) act(ctx context.Context, cl *client.Client, args []string) error {
	ids, err := cli.ParseIDs("task", args)
	if err != nil {
		return err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	out := wire.Acted{Verb: a.request.Verb, DryRun: a.request.DryRun, To: a.request.To, Tasks: []wire.TaskActed{}}
	for i := 0; i == 0 || i < len(ids); i += mostActed {
		r := a.request
		r.Tasks = ids[i:min(i+mostActed, len(ids))]
		some, err := cl.Tasks().ActOnAll(ctx, r)
		out.Tasks, out.Changed = append(out.Tasks, some.Tasks...), out.Changed+some.Changed
		if err != nil {
			return err
		}
	}
	if err := a.Print(out, func(w io.Writer) { writeActed(w, a.Err, out) }); err != nil {
		return err
	}
	if slices.ContainsFunc(out.Tasks, refused) {
		return fail.ErrSilent // it was said of each
	}
	return nil
}

// refused says that a task is not as the verb wants it, nor on its way.
func refused(t wire.TaskActed) bool { return !t.Changed && t.Why != "nothing to do" }

// writeActed says what became of each task; of those that refused on errs.
func writeActed(w, errs io.Writer, out wire.Acted) {
	for _, t := range out.Tasks {
		fmt.Fprintln(show.Pick(refused(t), errs, w), taskActed(out, t))
	}
	switch n := len(out.Tasks) - out.Changed; {
	case len(out.Tasks) == 0:
		fmt.Fprintln(w, "no task matches")
	case out.DryRun:
		fmt.Fprintf(w, "%s would change, %d not; nothing was done\n", show.Plural(int64(out.Changed), "task"), n)
	case len(out.Tasks) > 1:
		fmt.Fprintf(w, "%s changed, %d not\n", show.Plural(int64(out.Changed), "task"), n)
	}
}

// taskActed says what became of one task, in words.
func taskActed(out wire.Acted, t wire.TaskActed) string {
	switch {
	case !t.Changed && strings.HasPrefix(t.Why, "task "):
		return t.Why
	case !t.Changed:
		return fmt.Sprintf("task %d%s: %s", t.Task, show.Pick(t.Before == "", "", " is "+t.Before), t.Why)
	case t.Priority != nil:
		return priorityChange(*t.Priority)
	case t.Change != nil:
		return taskChange(*t.Change)
	case t.Reassigned != nil && out.DryRun:
		return fmt.Sprintf("task %d: %s → %s", t.Task, show.OrDash(t.Reassigned.From), out.To)
	case t.Scaled != nil:
		return scaleChange(*t.Scaled)
	case t.Reassigned != nil:
		var b strings.Builder
		writeReassigned(&b, wire.Reassigned{Share: out.To, Tasks: []wire.TaskReassigned{*t.Reassigned}})
		return strings.TrimSpace(b.String())
	case out.Verb == wire.VerbScale:
		return fmt.Sprintf("task %d %s: %s", t.Task, t.Name, out.Verb)
	}
	return fmt.Sprintf("task %d %s: %s → %s", t.Task, t.Name, t.Before, t.After)
}

// taskVerbCommands are those of the verbs that need nothing else.
func taskVerbCommands(c *cli.CLI) []*cobra.Command {
	var all []*cobra.Command
	for _, v := range []struct {
		verb  wire.Verb
		short string
	}{
		{wire.VerbKill, "End tasks and their jobs, those that run too"},
		{wire.VerbPause, "Start no more jobs of tasks; those that run go on"},
		{wire.VerbResume, "Let paused tasks go on"},
		{wire.VerbRetry, "Try the pieces that did not finish again, as new jobs"},
		{wire.VerbFinish, "Start no more jobs; the task is over when those that run have ended"},
		{wire.VerbAvalanche, "End the scouting of tasks now, and go on with those that a scout has stopped"},
	} {
		a := &acting{CLI: c, request: wire.ActRequest{Verb: v.verb}}
		cmd := &cobra.Command{Use: string(v.verb) + " TASK...", Short: v.short, Args: a.tasksOr,
			Example: fmt.Sprintf("  divvy task %[1]s 17 18\n  divvy task %[1]s --user alice --label test --dry-run", v.verb)}
		a.choiceFlags(cmd, "share")
		cmd.RunE = c.WithClient(a.act)
		if v.verb == wire.VerbRetry {
			retryFlags(cmd, a)
		}
		all = append(all, cmd)
	}
	return all
}

// retryFlags are what may be other when tasks are tried again.
func retryFlags(cmd *cobra.Command, a *acting) {
	var with wire.Changes
	var cores, attempts, priority int
	var memory, disk int64
	var walltime string
	var queues []string
	f := cmd.Flags()
	f.IntVar(&cores, "cores", 0, "with so many cores")
	f.Int64Var(&memory, "memory-mb", 0, "with so much memory, in MB; 0 = no need")
	f.Int64Var(&disk, "disk-mb", 0, "with so much disk, in MB; 0 = no need")
	f.StringVar(&walltime, "walltime", "", "with this walltime, such as 12h")
	f.StringSliceVar(&queues, "queues", nil, "on these queues: names, globs or label selectors")
	f.IntVar(&attempts, "max-attempts", 0, "with so many attempts a job")
	f.IntVar(&priority, "priority", 0, "with this priority")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := false
		flag := func(name string, set func()) {
			if f.Changed(name) {
				given = true
				set()
			}
		}
		flag("cores", func() { with.Cores = &cores })
		flag("memory-mb", func() { with.MemoryMB = &memory })
		flag("disk-mb", func() { with.DiskMB = &disk })
		flag("queues", func() { with.Queues = &queues })
		flag("max-attempts", func() { with.MaxAttempts = &attempts })
		flag("priority", func() { with.Priority = &priority })
		var err error
		flag("walltime", func() {
			err = new(spec.Walltime).UnmarshalText([]byte(walltime))
			with.Walltime = &walltime
		})
		if err != nil {
			return fail.Usagef("--%s", err)
		}
		if given {
			a.request.With = &with
		}
		return run(cmd, args)
	}
}
