package steer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares"
)

// Audit shows who changed what.
func Audit(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "audit", Short: "Who changed what", Example: "  divvy audit list --since 7d"}
	var f client.AuditFilter
	var since string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List changes, the newest first", Args: cli.Takes(),
		Long:    `List changes that somebody made, the newest first: each is noted in the transaction that makes it, with the token's name, and kept for keep_audit.`,
		Example: "  divvy audit list --since 7d --who alice\n  divvy audit list --what site -o json\n  divvy audit list --what queue.state --object CERN"}
	cmd.Flags().StringVar(&f.Who, "who", "", "only changes by the token with this name")
	cmd.Flags().StringVar(&f.What, "what", "", "only this, such as task.kill; or all of a kind, such as task")
	cmd.Flags().StringVar(&f.Object, "object", "", "only changes of the thing with this id or name")
	cmd.Flags().StringVar(&since, "since", "", "how far back: 90m, 24h, 7d; empty = as far as there is")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "entries at the most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if since != "" {
			d, err := shares.ParseDuration(since)
			if err != nil || d <= 0 {
				return fail.Usagef("--since %q: expected a time such as 90m, 24h or 7d", since)
			}
			f.Since = time.Now().Add(-time.Duration(d))
		}
		return cli.Answer(c, func(ctx context.Context, cl *client.Client, _ []string) (wire.Page[wire.Audited], error) {
			return cl.Tokens().Audit(ctx, f)
		},
			func(to cli.Paper, page wire.Page[wire.Audited]) { writeAudit(to, page.Items) })(cmd, args)
	}
	group.AddCommand(cmd)
	return group
}

// writeAudit is a line an entry; of texts of several lines it has the first, unless wide.
func writeAudit(w cli.Paper, all []wire.Audited) {
	first := func(text string) string {
		line, more, _ := strings.Cut(text, "\n")
		switch {
		case w.Wide:
			return strings.ReplaceAll(text, "\n", "; ")
		case more != "":
			return fmt.Sprintf("%s; %d more", line, 1+strings.Count(more, "\n"))
		}
		return line
	}
	g := show.New(w, "at", "who", "role", "what", "object", "before", "after")
	for _, a := range all {
		g.Row(a.At.UTC().Format(time.DateTime), a.Who, a.Role, a.What, a.Object, first(a.Before), first(a.After))
	}
	g.Flush()
}
