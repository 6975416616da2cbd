package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
)

// claimCommand shows what several jobs of a task hold together.
func claimCommand(c *cli) *cobra.Command {
	group := &cobra.Command{Use: "resource-claim", Aliases: []string{"resource-claims", "claim"}, Short: "Resource claims: what several jobs hold together"}
	group.AddCommand(claimListCommand(c), claimCreateCommand(c), claimDeleteCommand(c),
		&cobra.Command{Use: "show CLAIM", Short: "Show a resource claim with the jobs that hold it and that wait",
			Long: `Show a resource claim with the jobs that hold it and that wait.

A claim is pending until the first of its jobs gets a slot; then it is bound there, at that node and with these devices, and its
other jobs get slots of that node only. It is draining when its task was scaled down and those that hold it still run, and
released when no job is left that may hold it.`,
			Example: "  divvy resource-claim show 7", Args: takes("CLAIM, the id of a claim; 'divvy resource-claim list' has them"), RunE: c.withClient(c.claimShow)})
	return group
}

func claimListCommand(c *cli) *cobra.Command {
	var filter client.ClaimFilter
	var all bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List resource claims by id; without --state those that are not released", Args: takes(),
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			page, err := gather(pages{all, filter.After, filter.Limit}, func(after string, limit int) (client.Page[client.Claim], error) {
				f := filter
				f.After, f.Limit = after, limit
				return cl.Claims(ctx, f)
			})
			if err != nil {
				return err
			}
			return c.print(page, func(w io.Writer) { writeClaims(w, page, c.wide(), time.Now()) })
		})}
	f := cmd.Flags()
	f.Int64Var(&filter.Task, "task", 0, "only claims of this task")
	f.StringVar(&filter.State, "state", "", "only claims in this state: pending, bound, draining, released")
	_ = cmd.RegisterFlagCompletionFunc("state", fixed("pending", "bound", "draining", "released"))
	f.StringVar(&filter.Node, "node", "", "only claims that are bound at this node")
	f.StringVar(&filter.Resource, "resource", "", "only claims that take units of this resource")
	f.IntVar(&filter.Limit, "limit", 100, "claims a page, 1 to 1000")
	f.StringVar(&filter.After, "after", "", "go on after a page: its 'next'")
	f.BoolVar(&all, "all", false, "all pages")
	return cmd
}

func (c *cli) claimShow(ctx context.Context, cl *client.Client, args []string) error {
	id, err := parseID("resource-claim", args[0])
	if err != nil {
		return err
	}
	claim, err := cl.Claim(ctx, id)
	if err != nil {
		return err
	}
	return c.print(claim, func(w io.Writer) { writeClaim(w, claim, time.Now()) })
}

func writeClaims(w io.Writer, page client.Page[client.Claim], wide bool, now time.Time) {
	headers := []string{">claim", ">task", "key", "state", "queue", "node", "devices", ">sharers", ">bound"}
	if wide {
		headers = append(headers, "takes", ">linger", ">idle", ">age")
	}
	g := newGrid(w, headers...)
	for _, claim := range page.Items {
		cells := []any{claim.ID, taskOf(claim), claim.Key, g.state(claim.State), orDash(claim.Queue), orDash(claim.Node),
			orDash(strings.Join(claim.Devices, " ")), sharers(claim), since(now, claim.BoundAt)}
		if wide {
			cells = append(cells, takesOf(claim), inSeconds(claim.LingerS), since(now, claim.IdleSince), age(now, claim.CreatedAt))
		}
		g.row(cells...)
	}
	g.flush()
	more(w, page.Next)
}

func writeClaim(w io.Writer, claim client.Claim, now time.Time) {
	g := newFacts(w)
	g.row("claim", fmt.Sprint(claim.ID))
	g.row("task", taskOf(claim))
	g.row("key", claim.Key)
	g.row("state", g.state(claim.State))
	g.row("template", claim.Template.Name+pick(claim.Template.Missing && claim.Task != 0, " (neither the task nor the site has it: its jobs wait)", ""))
	g.row("takes", takesOf(claim))
	if claim.Node != "" {
		g.row("bound", fmt.Sprintf("at node %s of queue %s%s", claim.Node, claim.Queue, forSome(now, claim.BoundAt)))
	}
	if len(claim.Devices) > 0 {
		g.row("devices", strings.Join(claim.Devices, " "))
	}
	g.row("sharers", sharers(claim))
	if claim.IdleSince != nil && claim.Task != 0 { // others stay where they are
		g.row("idle", fmt.Sprintf("for %s; unbound after %s", age(now, *claim.IdleSince), inSeconds(claim.LingerS)))
	}
	g.row("created", age(now, claim.CreatedAt)+" ago")
	if claim.EndedAt != nil {
		g.row("released", age(now, *claim.EndedAt)+" ago")
	}
	g.flush()
	if len(claim.Holders) > 0 {
		fmt.Fprintln(w, "\nheld by")
		t := newGrid(w, ">job", ">task", "name", ">attempt", "state", "pilot", ">since")
		for _, h := range claim.Holders {
			t.row(h.Job, h.Task, orDash(h.Name), h.Attempt, t.state(h.State), h.Pilot, age(now, h.Since))
		}
		t.flush()
		others(w, claim.Sharers-len(claim.Holders))
	}
	if len(claim.Waiters) > 0 {
		fmt.Fprintln(w, "\nwithout a slot ('divvy job explain JOB' says why)")
		t := newGrid(w, ">job", ">task", "name", "state", ">age")
		for _, j := range claim.Waiters {
			t.row(j.Job, j.Task, orDash(j.Name), t.state(j.State), age(now, j.Since))
		}
		t.flush()
		others(w, claim.Waiting-len(claim.Waiters))
	}
}

// others says how many a table does not have.
func others(w io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(w, "… and %d more\n", n)
	}
}

func taskOf(claim client.Claim) string {
	if claim.Task == 0 {
		return "-"
	}
	return fmt.Sprint(claim.Task)
}

func sharers(claim client.Claim) string {
	if most := claim.Template.MaxSharers; most > 0 {
		return fmt.Sprintf("%d of %d", claim.Sharers, most)
	}
	return fmt.Sprint(claim.Sharers)
}

// unitsOf lists units of resources, as in 2 maya.
func unitsOf(resources map[string]int64) (parts []string) {
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		parts = append(parts, fmt.Sprintf("%d %s", resources[name], name))
	}
	return parts
}

// takesOf is what a claim takes when it is bound, in a few words.
func takesOf(claim client.Claim) string {
	parts := unitsOf(claim.Template.Resources)
	if claim.Template.Node || len(claim.Template.Devices) > 0 {
		parts = append(parts, "a node")
	}
	for _, kind := range slices.Sorted(maps.Keys(claim.Template.Devices)) {
		parts = append(parts, plural(int64(claim.Template.Devices[kind]), kind+" device"))
	}
	if claim.Template.Gang {
		parts = append(parts, "all its jobs at once")
	}
	return orDash(strings.Join(parts, ", "))
}

func since(now time.Time, t *time.Time) string {
	if t == nil {
		return "-"
	}
	return age(now, *t)
}

func forSome(now time.Time, t *time.Time) string {
	if t == nil {
		return ""
	}
	return " for " + age(now, *t)
}
