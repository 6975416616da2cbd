package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/shares"
)

// retag rehearses the rules of a site file on past tasks.
func (c *cli) retag(ctx context.Context, cl *client.Client, since, file string) error {
	d, err := shares.ParseDuration(since)
	if err != nil || d <= 0 {
		return fail.Usagef("--since %s: expected a duration such as 90m, 24h or 7d", since)
	}
	src, name, err := c.readFile(file)
	if err != nil {
		return err
	}
	r, err := cl.Retag(ctx, src, name, time.Duration(d))
	if err != nil {
		return err
	}
	return c.print(r, func(w io.Writer) { writeRetagging(w, since, r) })
}

func writeRetagging(w io.Writer, since string, r client.Retagging) {
	fmt.Fprintf(w, "%s of the last %s with %s: %s would go to another share or to none; nothing is written\n\n",
		plural(r.Tasks, "task"), since, plural(r.Jobs, "job"), plural(r.Changed, "task"))
	g := newGrid(w, "old share", "", "new share", ">tasks", ">jobs")
	for _, m := range r.Moves {
		g.row(orDash(m.Old), pick(m.Same, "=", "→"), orDash(m.New), m.Tasks, m.Jobs)
	}
	g.flush()
	if len(r.Unmatched) == 0 {
		return
	}
	fmt.Fprintf(w, "\nno share for:\n")
	g = newGrid(w, ">tasks", ">jobs", "old share", "verdict", ">e.g. task", "attributes", "reason")
	for _, u := range r.Unmatched {
		g.row(u.Tasks, u.Jobs, orDash(u.Old), u.Verdict, u.Example, orDash(labels(u.Attributes)), u.Reason)
	}
	g.flush()
}
