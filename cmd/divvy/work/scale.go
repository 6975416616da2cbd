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

// taskScaleCommand changes how many replicas or jobs a task of groups has.
func taskScaleCommand(c *cli.CLI) *cobra.Command {
	var to wire.Scaling
	a := &acting{CLI: c, request: wire.ActRequest{Verb: wire.VerbScale, Scale: &to}}
	cmd := &cobra.Command{
		Use:   "scale TASK... --replicas N",
		Short: "Change how many replicas or jobs tasks of groups have",
		Long: `Change how many replicas or jobs a task of groups has: replicas of the task, with --group of a group, with --role the jobs of
a standalone role, with both the jobs of a member.

What there is before and after stays as it is. New jobs are made as others are. Of what there is not any more ready jobs
are cancelled; running ones go on to their end and are not tried again, and their claims go with the last of them. A task
that has ended cannot be scaled.`,
		Example: "  divvy task scale 17 --group sgx --replicas 4\n  divvy task scale 17 --group sgx --role pca --replicas 2\n  divvy task scale 17 --replicas 3",
		Args:    a.tasksOr,
	}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		if len(args) != 1 || a.request.DryRun {
			return a.act(ctx, cl, args)
		}
		ids, err := cli.ParseIDs("task", args)
		if err != nil {
			return err
		}
		done, err := cl.Tasks().Scale(ctx, ids[0], to)
		if err != nil {
			return err
		}
		return c.Print(done, func(w io.Writer) { fmt.Fprintln(w, scaleChange(done)) })
	})
	fl := cmd.Flags()
	fl.StringVar(&to.Group, "group", "", "scale this group")
	fl.StringVar(&to.Role, "role", "", "scale this standalone role, with --group this member")
	fl.IntVar(&to.Replicas, "replicas", 0, "how many there are from now on")
	_ = cmd.MarkFlagRequired("replicas")
	a.choiceFlags(cmd, "share")
	return cmd
}

// scaledWhat says what is scaled, in words.
func scaledWhat(group, role string) string {
	switch {
	case group != "" && role != "":
		return "jobs of " + group + "/" + role
	case group != "":
		return "replicas of group " + group
	case role != "":
		return "jobs of role " + role
	}
	return "replicas"
}

// scaleChange says what scaling did, in words.
func scaleChange(ch wire.ScaleChange) string {
	what := scaledWhat(ch.Group, ch.Role)
	if ch.Before == ch.After {
		return fmt.Sprintf("task %d has %s %d: nothing to do", ch.Task, what, ch.After)
	}
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(ch.Added, show.Plural(int64(ch.Added), "new job"))
	add(ch.Removed, show.Plural(int64(ch.Removed), "job")+" less to make")
	add(ch.Cancelled, fmt.Sprintf("%d cancelled", ch.Cancelled))
	add(int(ch.Leased), fmt.Sprintf("%d run on", ch.Leased))
	add(int(ch.Draining), show.Plural(ch.Draining, "claim")+show.Pick(ch.Draining == 1, " drains", " drain"))
	s := fmt.Sprintf("task %d: %s %d → %d", ch.Task, what, ch.Before, ch.After)
	if len(parts) > 0 {
		s += "; " + strings.Join(parts, ", ")
	}
	return s
}
