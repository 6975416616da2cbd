package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
)

// serveCommand runs the daemon until SIGTERM or SIGINT.
func serveCommand(c *cli.CLI) *cobra.Command {
	var flags config.Flags
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon: HTTP API, generators and all background work.

Without --database it runs a private PostgreSQL in the state folder. Flags win over DIVVY_* in the
environment, that over the file of --config; see docs/configuration.md.`,
		Example: "  divvy serve\n  divvy serve --site deploy/site.example.yml\n  divvy serve --database postgres://divvy@db/divvy --listen 0.0.0.0:8470 --token-file /etc/divvy/token",
		Args:    cli.Takes(),
	}
	flags.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&printOnly, "print-config", false, "print the configuration that results, and start nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c.TokenFile != "" {
			flags.Said["token_file"] = c.TokenFile
		}
		cfg, err := flags.Load(os.Getenv)
		if err != nil {
			return fail.UsageError{Err: err}
		}
		if printOnly {
			return config.Print(c.Out, cfg)
		}
		return serve.Run(cmd.Context(), c.Err, cfg)
	}
	return cmd
}
