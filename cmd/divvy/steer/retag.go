package steer

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares"
)

// retag rehearses the rules of a site file on past tasks.
func retag(ctx context.Context, c *cli.CLI, cl *client.Client, since, file string) error {
	d, err := shares.ParseDuration(since)
	if err != nil || d <= 0 {
		return fail.Usagef("--since %s: expected a duration such as 90m, 24h or 7d", since)
	}
	src, name, err := cli.ReadFile(c, file)
	if err != nil {
		return err
	}
	r, err := cl.Site().Retag(ctx, src, name, time.Duration(d))
	if err != nil {
		return err
	}
	return c.Print(r, func(w io.Writer) { writeRetagging(w, since, r) })
}

func writeRetagging(w io.Writer, since string, r wire.Retagging) {
	fmt.Fprintf(w, "%s of the last %s with %s: %s would go to another share or to none; nothing is written\n\n",
		show.Plural(r.Tasks, "task"), since, show.Plural(r.Jobs, "job"), show.Plural(r.Changed, "task"))
	g := show.New(w, "old share", "", "new share", ">tasks", ">jobs")
	for _, m := range r.Moves {
		g.Row(show.OrDash(m.Old), show.Pick(m.Same, "=", "→"), show.OrDash(m.New), m.Tasks, m.Jobs)
	}
	g.Flush()
	if len(r.Unmatched) == 0 {
		return
	}
	fmt.Fprintf(w, "\nno share for:\n")
	g = show.New(w, ">tasks", ">jobs", "old share", "verdict", ">e.g. task", "attributes", "reason")
	for _, u := range r.Unmatched {
		g.Row(u.Tasks, u.Jobs, show.OrDash(u.Old), u.Verdict, u.Example, show.OrDash(show.Labels(u.Attributes)), u.Reason)
	}
	g.Flush()
}
