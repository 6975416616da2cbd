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
	"github.com/divvyhq/divvy/internal/logs"
)

// Log changes what a daemon logs while it runs.
func Log(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "log", Short: "What the daemon logs", Example: "  divvy log level\n  divvy log level debug --for 10m"}
	var parts []string
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "level [LEVEL]",
		Short: "Show or change which lines the daemon logs, while it runs",
		Long: `Show which lines the daemon logs, or change that: debug, info, warn or error, at once and at the daemon that is asked only. A part may have a level of
its own: ` + strings.Join(logs.Parts, ", ") + `. With --for it is as the configuration says again when the time is over; a restart forgets it too.`,
		Example:   "  divvy log level\n  divvy log level debug --for 10m\n  divvy log level info --part dispatcher=debug",
		Args:      cli.AtMost("LEVEL, debug, info, warn or error"),
		ValidArgs: []string{"debug", "info", "warn", "error"},
	}
	cmd.Flags().StringArrayVar(&parts, "part", nil, "PART=LEVEL: a part with a level of its own; may be given again")
	cmd.Flags().DurationVar(&within, "for", 0, "how long; 0 = until the daemon ends")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := levelsToSet(args, parts, within)
		if err != nil {
			return cli.WithExample(cmd, err)
		}
		return cli.Answer(c, func(ctx context.Context, cl *client.Client, _ []string) (wire.LogLevels, error) {
			if to == nil {
				return cl.Daemon().LogLevels(ctx)
			}
			return cl.Daemon().SetLogLevels(ctx, *to)
		}, func(w cli.Paper, now wire.LogLevels) { fmt.Fprintln(w, now) })(cmd, args)
	}
	group.AddCommand(cmd)
	return group
}

// levelsToSet is nil when the levels are only to be shown.
func levelsToSet(args, parts []string, within time.Duration) (*wire.SetLogLevels, error) {
	switch {
	case len(args) == 0 && len(parts) == 0 && within == 0:
		return nil, nil
	case len(args) == 0:
		return nil, fail.Usagef("log level: which level? debug, info, warn or error")
	case within < 0:
		return nil, fail.Usagef("--for %s: expected a time such as 10m", within)
	}
	to := &wire.SetLogLevels{Level: strings.ToLower(args[0]), Parts: map[string]string{}, ForS: within.Seconds()}
	if _, err := logs.ParseLevel(to.Level); err != nil {
		return nil, fail.Usagef("log level: %v", err)
	}
	for _, p := range parts {
		part, level, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fail.Usagef("--part %q: expected PART=LEVEL, such as dispatcher=debug", p)
		}
		if _, err := logs.ParseLevel(level); err != nil {
			return nil, fail.Usagef("--part %s: %v", p, err)
		}
		to.Parts[part] = strings.ToLower(level)
	}
	return to, nil
}
