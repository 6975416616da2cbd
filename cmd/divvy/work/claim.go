package work

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
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Claim shows what several jobs of a task hold together.
func Claim(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "resource-claim", Aliases: []string{"resource-claims", "claim"}, Short: "Resource claims: what several jobs hold together"}
	group.AddCommand(claimListCommand(c), claimCreateCommand(c), claimDeleteCommand(c),
		&cobra.Command{Use: "show CLAIM", Short: "Show a resource claim with the jobs that hold it and that wait",
			Long: `Show a resource claim with the jobs that hold it and that wait.

A claim is pending until the first of its jobs gets a slot; then it is bound there, at that node and with these devices, and its
other jobs get slots of that node only. It is draining when its task was scaled down and those that hold it still run, and
released when no job is left that may hold it.`,
			Example: "  divvy resource-claim show 7", Args: cli.Takes("CLAIM, the id of a claim; 'divvy resource-claim list' has them"), RunE: cli.ByID(c, "resource-claim", func(ctx context.Context, cl *client.Client, id int64) (wire.ClaimStanding, error) {
				return cl.Claims().Get(ctx, id)
			}, writeClaim)})
	return group
}

func claimListCommand(c *cli.CLI) *cobra.Command {
	var filter client.ClaimFilter
	cmd := cli.Listing(c, &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List resource claims by id; without --state those that are not released"}, "claims",
		func(ctx context.Context, cl *client.Client, after string, limit int) (wire.Page[wire.ClaimStanding], error) {
			filter.After, filter.Limit = after, limit
			return cl.Claims().List(ctx, filter)
		}, writeClaims)
	f := cmd.Flags()
	f.Int64Var(&filter.Task, "task", 0, "only claims of this task")
	f.StringVar(&filter.State, "state", "", "only claims in this state: pending, bound, draining, released")
	_ = cmd.RegisterFlagCompletionFunc("state", cli.Fixed("pending", "bound", "draining", "released"))
	f.StringVar(&filter.Node, "node", "", "only claims that are bound at this node")
	f.StringVar(&filter.Resource, "resource", "", "only claims that take units of this resource")
	return cmd
}

func writeClaims(w cli.Paper, page wire.Page[wire.ClaimStanding]) {
	show.Table[wire.ClaimStanding]{
		Heads: []string{">claim", ">task", "key", "state", "queue", "node", "devices", ">sharers", ">bound"},
		Wide:  []string{"takes", ">linger", ">idle", ">age"},
		Row: func(g *show.Grid, claim wire.ClaimStanding) []any {
			return []any{claim.ID, taskOf(claim), claim.Key, g.State(claim.State), show.OrDash(claim.Queue), show.OrDash(claim.Node),
				show.OrDash(strings.Join(claim.Devices, " ")), sharers(claim), show.Since(w.Now, claim.BoundAt),
				takesOf(claim), inSeconds(claim.LingerS), show.Since(w.Now, claim.IdleSince), show.Age(w.Now, claim.CreatedAt)}
		},
	}.Write(w, page.Items, w.Wide)
	cli.More(w, page.Next)
}

func writeClaim(w cli.Paper, claim wire.ClaimStanding) {
	now := w.Now
	g := show.NewFacts(w)
	g.Row("claim", fmt.Sprint(claim.ID))
	g.Row("task", taskOf(claim))
	g.Row("key", claim.Key)
	g.Row("state", g.State(claim.State))
	g.Row("template", claim.Template.Name+show.Pick(claim.Template.Missing && claim.Task != 0, " (neither the task nor the site has it: its jobs wait)", ""))
	g.Row("takes", takesOf(claim))
	if claim.Node != "" {
		g.Row("bound", fmt.Sprintf("at node %s of queue %s%s", claim.Node, claim.Queue, forSome(now, claim.BoundAt)))
	}
	g.Some("devices", strings.Join(claim.Devices, " "))
	g.Row("sharers", sharers(claim))
	if claim.IdleSince != nil && claim.Task != 0 { // others stay where they are
		g.Row("idle", fmt.Sprintf("for %s; unbound after %s", show.Age(now, *claim.IdleSince), inSeconds(claim.LingerS)))
	}
	g.Row("created", show.Age(now, claim.CreatedAt)+" ago")
	g.Some("released", ago(now, claim.EndedAt))
	g.Flush()
	if len(claim.Holders) > 0 {
		fmt.Fprintln(w, "\nheld by")
		t := show.New(w, ">job", ">task", "name", ">attempt", "state", "pilot", ">since")
		for _, h := range claim.Holders {
			t.Row(h.Job, h.Task, show.OrDash(h.Name), h.Attempt, t.State(h.State), h.Pilot, show.Age(now, h.Since))
		}
		t.Flush()
		others(w, claim.Sharers-len(claim.Holders))
	}
	if len(claim.Waiters) > 0 {
		fmt.Fprintln(w, "\nwithout a slot ('divvy job explain JOB' says why)")
		t := show.New(w, ">job", ">task", "name", "state", ">age")
		for _, j := range claim.Waiters {
			t.Row(j.Job, j.Task, show.OrDash(j.Name), t.State(j.State), show.Age(now, j.Since))
		}
		t.Flush()
		others(w, claim.Waiting-len(claim.Waiters))
	}
}

// others says how many a table does not have.
func others(w io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(w, "… and %d more\n", n)
	}
}

func taskOf(claim wire.ClaimStanding) string {
	if claim.Task == 0 {
		return "-"
	}
	return fmt.Sprint(claim.Task)
}

func sharers(claim wire.ClaimStanding) string {
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
func takesOf(claim wire.ClaimStanding) string {
	parts := unitsOf(claim.Template.Resources)
	if claim.Template.Node || len(claim.Template.Devices) > 0 {
		parts = append(parts, "a node")
	}
	for _, kind := range slices.Sorted(maps.Keys(claim.Template.Devices)) {
		parts = append(parts, show.Plural(int64(claim.Template.Devices[kind]), kind+" device"))
	}
	if claim.Template.Gang {
		parts = append(parts, "all its jobs at once")
	}
	return show.OrDash(strings.Join(parts, ", "))
}

func forSome(now time.Time, t *time.Time) string {
	if t == nil {
		return ""
	}
	return " for " + show.Age(now, *t)
}
