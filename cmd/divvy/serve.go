package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// serveCommand runs the daemon until SIGTERM or SIGINT.
func serveCommand(c *cli) *cobra.Command {
	var flags config.Flags
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon: HTTP API, generators and all background work.

Without --database it runs a private PostgreSQL in the state folder. Flags win over DIVVY_* in the
environment, that over the file of --config; see docs/configuration.md.`,
		Example: "  divvy serve\n  divvy serve --site deploy/site.example.yml\n  divvy serve --database postgres://divvy@db/divvy --listen 0.0.0.0:8470 --token-file /etc/divvy/token",
		Args:    takes(),
	}
	flags.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&printOnly, "print-config", false, "print the configuration that results, and start nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c.tokenFile != "" {
			flags.Said["token_file"] = c.tokenFile
		}
		cfg, err := flags.Load(os.Getenv)
		if err != nil {
			return fail.UsageError{Err: err}
		}
		if printOnly {
			return config.Print(c.out, cfg)
		}
		return c.serve(cmd.Context(), cfg)
	}
	return cmd
}

func (c *cli) serve(ctx context.Context, cfg config.Config) error {
	lines := config.NewLog(c.err, cfg)
	log := lines.Logger()
	d := newDaemon(cfg, log)
	d.lines = lines
	systemd := supervisorOf(log)
	quit := tellOnHangup(ctx, log)
	defer quit()
	if err := d.Start(ctx); err != nil {
		return err
	}
	defer systemd.supervised(d)()
	var failure error
	select {
	case <-ctx.Done():
		log.Info("stopping: no new grants; what is in flight is answered")
	case failure = <-d.Failed():
		log.Error("stopping: the daemon cannot go on", "error", failure)
	}
	systemd.tell("STOPPING=1")
	if err := d.Stop(context.WithoutCancel(ctx)); err != nil && failure == nil {
		failure = err
	}
	log.Info("stopped")
	return failure
}

// tellOnHangup answers SIGHUP, which many daemons take as "read your files again", with what to do here.
func tellOnHangup(ctx context.Context, log *slog.Logger) (quit func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				log.Warn("SIGHUP: nothing was read or applied. A site file takes effect by 'divvy apply -f FILE' only; log levels by 'divvy log level'; another configuration needs a restart")
			}
		}
	}()
	return func() { signal.Stop(hangup); cancel() }
}
