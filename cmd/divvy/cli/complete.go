package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// words asks the daemon for what a shell may complete, each with a word about it.
type words = func(context.Context, *client.Client) ([]cobra.Completion, error)

// places maps what commands call a thing, as a flag or as an argument, to the names that it may have.
var places = map[string]words{
	"queue": func(ctx context.Context, cl *client.Client) ([]cobra.Completion, error) {
		all, err := cl.Queues().List(ctx)
		return completions(all, err, func(q wire.QueueStanding) (any, string) { return q.Name, string(q.State) })
	},
	"share": func(ctx context.Context, cl *client.Client) ([]cobra.Completion, error) {
		standing, err := cl.Shares().Standing(ctx)
		var all []wire.ShareStanding // every pool has the whole tree
		if len(standing.Pools) > 0 {
			all = standing.Pools[0].Shares
		}
		return completions(all, err, func(s wire.ShareStanding) (any, string) { return s.Path, "weight " + show.Units(s.Weight) })
	},
	"task": func(ctx context.Context, cl *client.Client) ([]cobra.Completion, error) {
		page, err := cl.Tasks().List(ctx, client.TaskFilter{Newest: true, Limit: 1000})
		var live []wire.Task
		for _, t := range page.Items {
			if t.EndedAt == nil {
				live = append(live, t)
			}
		}
		return completions(live, err, func(t wire.Task) (any, string) { return t.ID, t.Name + " " + t.State })
	},
	"resource": func(ctx context.Context, cl *client.Client) ([]cobra.Completion, error) {
		all, err := cl.Resources().List(ctx)
		return completions(all, err, func(r wire.ResourceStanding) (any, string) {
			return r.Name, fmt.Sprintf("%d of %d held", r.Held, r.Capacity)
		})
	},
	"claim": func(ctx context.Context, cl *client.Client) ([]cobra.Completion, error) {
		page, err := cl.Claims().List(ctx, client.ClaimFilter{})
		return completions(page.Items, err, func(c wire.ClaimStanding) (any, string) { return c.ID, c.Key + ", " + c.State })
	},
}

func completions[T any](all []T, err error, of func(T) (name any, about string)) (names []cobra.Completion, _ error) {
	for _, one := range all {
		name, about := of(one)
		names = append(names, cobra.CompletionWithDesc(fmt.Sprint(name), about))
	}
	return names, err
}

// asked completes up to n arguments, 0: any number, by what the daemon answers.
func (c *CLI) asked(n int, ask words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if n > 0 && len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cl, err := c.quickClient()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer cl.Close()
		names, err := ask(cmd.Context(), cl)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Complete has a command's flags and arguments completed by their names: --queue, SHARE, TASK...
func (c *CLI) Complete(cmd *cobra.Command) {
	for name, ask := range places {
		if f := cmd.Flags().Lookup(name); f != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, c.asked(0, ask)) // one that has its own keeps it
		}
	}
	if cmd.ValidArgsFunction != nil {
		return
	}
	fields := strings.Fields(cmd.Use)
	for i, arg := range fields {
		kind, many := strings.CutSuffix(arg, "...")
		ask := places[strings.ToLower(kind)]
		if ask == nil || kind != strings.ToUpper(kind) || strings.HasPrefix(fields[i-1], "--") {
			continue
		}
		n := strings.Count(cmd.Use, " "+kind)
		if many {
			n = 0
		}
		cmd.ValidArgsFunction = c.asked(n, ask)
		return
	}
}

// Fixed completes one of a few words.
func Fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
