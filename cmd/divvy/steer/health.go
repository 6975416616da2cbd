package steer

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/build"
)

// healthWithin bounds the question: what asks for health repeats it every few seconds.
const healthWithin = 5 * time.Second

// Health asks what probes ask. It needs no token.
func Health(c *cli.CLI) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say by the exit code whether the daemon can serve",
		Long: `Ask the daemon whether it can serve: it is not about to leave, and its database answers (/readyz). With
--live only whether its process answers (/healthz): that is what may end a daemon, since one whose database is away
must not be ended for it. The exit code is 0 when it is so, else 1. No token is needed.`,
		Example: "  divvy health\n  divvy health --live --server http://divvy.example.org:8470",
		Args:    cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), healthWithin)
			defer cancel()
			return health(ctx, c, live)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask only whether the process answers")
	return cmd
}

func health(ctx context.Context, c *cli.CLI, live bool) error {
	tls, err := c.TLS.Config()
	if err != nil {
		return err
	}
	cl, err := client.New(client.Config{URL: c.Server, TLS: tls, UserAgent: "divvy/" + build.Version(), Patience: -1})
	if err != nil {
		return fail.UsageError{Err: err}
	}
	defer cl.Close()
	ask, status := cl.Daemon().Ready, "ready"
	if live {
		ask, status = cl.Daemon().Live, "live"
	}
	if err := ask(ctx); err != nil {
		return err
	}
	return c.Print(map[string]string{"status": status}, func(w io.Writer) { fmt.Fprintln(w, status) })
}
