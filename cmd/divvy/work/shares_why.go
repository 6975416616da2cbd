package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// SharesWhy is 'divvy shares why': why one share comes before another.
func SharesWhy(c *cli.CLI) *cobra.Command {
	var o client.WhyOptions
	var since string
	cmd := &cobra.Command{Use: "why SHARE SHARE", Short: "Explain why one share was served before another",
		Args: cli.Takes("SHARE, the path of a share", "SHARE, the path of the other"),
		Long: `Explain why the first share was served before the second, or the other way round: how often each was
chosen with the other next in line, how far below their targets they were then, and how they stand now.

Both are paths of shares, leaves or not. They are compared where their paths part.`,
		Example: "  divvy shares why Production/MC Production/Rep\n  divvy shares why Production Test --since 24h --last 100000",
		RunE: cli.Answer(c, func(ctx context.Context, cl *client.Client, args []string) (y wire.Why, err error) {
			if since != "" {
				d, err := shares.ParseDuration(since)
				if err != nil || d <= 0 {
					return y, fail.Usagef("--since %q is not a duration such as 90m, 24h or 7d", since)
				}
				o.Since = time.Duration(d)
			}
			if o.Last < 0 || o.Last > 100000 {
				return y, fail.Usagef("--last %d: expected 1 to 100000 decisions, or 0 for 10000", o.Last)
			}
			y, err = cl.Shares().Why(ctx, args[0], args[1], o)
			return y, ofShares(ctx, cl, err, args)
		}, writeWhy)}
	cmd.Flags().IntVar(&o.Last, "last", 0, "decisions to look at, the last ones; 0 = 10000")
	cmd.Flags().StringVar(&since, "since", "", "how far back to look: 90m, 24h, 7d; default 1h")
	return cmd
}

// ofShares says in the words of the command line which of its two shares the server does not take.
func ofShares(ctx context.Context, cl *client.Client, err error, paths []string) error {
	var p *wire.Problem
	if !errors.As(err, &p) {
		return err
	}
	for _, d := range p.Errors {
		switch d.Location {
		case "query.a":
			return fail.Hintf(fmt.Errorf("A, %q: %s", paths[0], d.Message), "%s", nearShare(ctx, cl, paths[0]))
		case "query.b":
			return fail.Hintf(fmt.Errorf("B, %q: %s", paths[1], d.Message), "%s", nearShare(ctx, cl, paths[1]))
		}
	}
	return err
}

// nearShare names the share that was meant, where one is near.
func nearShare(ctx context.Context, cl *client.Client, path string) string {
	const all = "'divvy shares show' lists them."
	st, err := cl.Shares().Standing(ctx)
	if err != nil {
		return all
	}
	var paths []string
	for _, p := range st.Pools {
		for _, s := range p.Shares {
			paths = append(paths, s.Path)
		}
	}
	if near := strict.Closest(path, paths); near != "" {
		return fmt.Sprintf("Did you mean %q? %s", near, all)
	}
	return all
}

func writeWhy(w cli.Paper, y wire.Why) {
	fmt.Fprintf(w, "%s\n\n", y.Summary)
	g := show.New(w, "chosen", "before", ">times", ">deficit", ">of the other", "last")
	duel := func(a, b string, d wire.Duel) {
		last := "-"
		if d.Last != nil {
			last = d.Last.UTC().Format(time.DateTime)
		}
		g.Row(a, b, d.Times, deficit(d.Deficit), deficit(d.RunnerUpDeficit), last)
	}
	duel(y.A, y.B, y.ABeforeB)
	duel(y.B, y.A, y.BBeforeA)
	g.Row(y.A, "anybody", y.AWon, "-", "-", "-")
	g.Row(y.B, "anybody", y.BWon, "-", "-", "-")
	g.Flush()
	for _, p := range y.Pools {
		fmt.Fprintf(w, "\nnow, pool %s\n", p.Pool)
		t := show.New(w, "share", ">weight", ">target", ">held", ">deficit", ">ready", ">rank")
		for _, l := range []wire.LevelStanding{p.A, p.B} {
			t.Row(l.Share, show.Units(l.Weight), show.Units(l.Target), show.Units(l.Held), show.Units(l.Deficit), l.Ready, fmt.Sprintf("%d of %d", l.Rank, l.Of))
		}
		t.Flush()
	}
}
