package steer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Resource shows finite resources and says how many units of them there are.
func Resource(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "resource", Aliases: []string{"resources"}, Short: "Resources: licences and other units that are shared out"}
	group.AddCommand(
		&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the resources as they stand", Args: cli.Takes(),
			RunE: cli.Items(c, func(ctx context.Context, cl *client.Client, _ []string) ([]wire.ResourceStanding, error) {
				return cl.Resources().List(ctx)
			}, writeResources)},
		&cobra.Command{Use: "show RESOURCE", Short: "Show who holds units of a resource, who waits, and why",
			Long: `Show who holds units of a resource, who waits, and why.

HELD are the units of jobs with a slot and of resource claims (BY CLAIMS), ALLOWANCE is what a sharing ID may hold now, WHY what keeps the next unit from it: allowance (it has its part, and what is free is
kept for others below theirs), capacity (no unit is free), external (others use them outside of divvy), reservation (they
are kept for a job that was passed over for long).`,
			Example: "  divvy resource show maya\n  divvy resource show table:orders", Args: cli.Takes("RESOURCE, the name of a resource"), RunE: resourceShow(c)},
		resourceSetCommand(c),
		resourceWatchCommand(c),
	)
	return group
}

func resourceSetCommand(c *cli.CLI) *cobra.Command {
	var capacity int64
	var reset bool
	var queue string
	cmd := &cobra.Command{
		Use:   "set RESOURCE (--capacity N | --reset)",
		Short: "Say how many units of a resource there are, at once",
		Long: `Say how many units of a resource there are, at once and in every daemon.

It goes before the figure of the site file, whatever is applied, until --reset. Nobody loses a unit: where more are held
than there are now, none is given out until enough have come back.`,
		Example: "  divvy resource set maya --capacity 6\n  divvy resource set seats --queue CERN --capacity 0\n  divvy resource set maya --reset",
		Args:    cli.Takes("RESOURCE, the name of a resource"),
	}
	cmd.Flags().Int64Var(&capacity, "capacity", 0, "units that may be held at once")
	cmd.Flags().BoolVar(&reset, "reset", false, "go back to the figure of the site file")
	cmd.Flags().StringVarP(&queue, "queue", "q", "", "of a resource per queue: this queue only")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := cmd.Flags().Changed("capacity")
		switch {
		case given == reset:
			return cli.WithExample(cmd, fail.Usagef("resource set needs one of --capacity N and --reset"))
		case capacity < 0:
			return fail.Usagef("--capacity %d: expected 0 or more", capacity)
		}
		return cli.Answer(c, func(ctx context.Context, cl *client.Client, args []string) (wire.ResourceCapacity, error) {
			if reset {
				return cl.Resources().ResetCapacity(ctx, args[0], queue)
			}
			return cl.Resources().SetCapacity(ctx, args[0], queue, capacity, cli.Whoami())
		}, func(w cli.Paper, now wire.ResourceCapacity) { fmt.Fprintln(w, capacityLine(now)) })(cmd, args)
	}
	return cmd
}

// capacityLine says what is in force, in words.
func capacityLine(r wire.ResourceCapacity) string {
	at := ""
	if r.Queue != "" {
		at = " at queue " + r.Queue
	}
	line := fmt.Sprintf("resource %s%s has %s", r.Name, at, show.Plural(r.Capacity, "unit"))
	if r.Set {
		return fmt.Sprintf("%s; the site file says %d", line, r.FileCapacity)
	}
	return line + show.Pick(r.Capacity == r.FileCapacity, ", as the site file says", fmt.Sprintf(", as set for more than this; the site file says %d", r.FileCapacity))
}

func resourceShow(c *cli.CLI) cli.Run {
	var name string
	return cli.Items(c, func(ctx context.Context, cl *client.Client, args []string) ([]wire.ResourceStanding, error) {
		name = args[0]
		return cl.Resources().Get(ctx, name)
	}, func(w cli.Paper, parts []wire.ResourceStanding) {
		if len(parts) == 0 {
			fmt.Fprintf(w, "no key of %s is in use\n", name)
		}
		for i, r := range parts {
			if i > 0 {
				fmt.Fprintln(w)
			}
			writeResource(w, r)
		}
	})
}

func writeResources(w cli.Paper, all []wire.ResourceStanding) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no resources: the site file has none that is in use (resources:)")
		return
	}
	show.Table[wire.ResourceStanding]{
		Heads: []string{"resource", "queue", ">capacity", ">held", ">wanted", ">free", ">holders", ">waiting", "external"},
		Wide:  []string{">file capacity", ">kept", "split by"},
		Row: func(_ *show.Grid, r wire.ResourceStanding) []any {
			return []any{r.Name + show.Pick(r.Unknown, " (not in the site)", ""), show.OrDash(r.Queue), r.Capacity, r.Held, r.Wanted, r.Free, r.Holders, r.Waiting, external(r),
				r.FileCapacity, r.Kept, r.SplitBy}
		},
	}.Write(w, all, w.Wide)
}

// external is what was reported from outside, in short.
func external(r wire.ResourceStanding) string {
	if r.External == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d used%s", r.External.Used, r.External.Total, show.Pick(r.External.Stale, ", stale", ""))
}

func writeResource(w io.Writer, r wire.ResourceStanding) {
	g := show.NewFacts(w)
	g.Row("resource", r.Name+show.Pick(r.Unknown, " (not in the site in force: jobs that ask for it wait)", ""))
	g.Some("queue", r.Queue)
	g.Row("capacity", fmt.Sprintf("%d%s", r.Capacity, show.Pick(r.Capacity == r.FileCapacity, "", fmt.Sprintf(" (the site file says %d)", r.FileCapacity))))
	g.Row("held", r.Held)
	g.Row("wanted", r.Wanted)
	g.Row("free", fmt.Sprintf("%d%s", r.Free, show.Pick(r.Kept > 0, fmt.Sprintf(", %d of them kept for somebody", r.Kept), "")))
	g.Row("split by", r.SplitBy)
	if r.External != nil {
		g.Row("reported", fmt.Sprintf("%s at %s", external(r), r.External.At.UTC().Format("2006-01-02 15:04:05Z")))
	}
	g.Flush()
	if len(r.IDs) == 0 {
		fmt.Fprintln(w, "\nnobody holds or wants a unit")
		return
	}
	fmt.Fprintln(w)
	g = show.New(w, "id", ">weight", ">held", ">by claims", ">wanted", ">allowance", ">passed over", "why")
	for _, id := range r.IDs {
		g.Row(id.ID, show.Units(id.Weight), id.Held, id.ByClaims, id.Wanted, show.Pick(id.Exempt, "exempt", fmt.Sprint(id.Allowance)), id.Waited, whyNot(id))
	}
	g.Flush()
	if len(r.Claims) == 0 {
		return
	}
	fmt.Fprintln(w, "\nheld by claims")
	g = show.New(w, ">claim", ">task", "key", "id", ">units", "queue", "node", ">sharers")
	for _, claim := range r.Claims {
		g.Row(claim.ID, claim.Task, claim.Key, show.OrDash(claim.SharingID), claim.Units, claim.Queue, show.OrDash(claim.Node), claim.Sharers)
	}
	g.Flush()
}

// whyNot says what keeps the next unit from an ID, and which IDs it is kept for.
func whyNot(id wire.ResourceID) string {
	why := show.OrDash(id.Why)
	if len(id.KeptFor) == 0 {
		return why
	}
	const most = 3
	names := strings.Join(id.KeptFor[:min(most, len(id.KeptFor))], ", ")
	if more := len(id.KeptFor) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return why + ": kept for " + names
}
