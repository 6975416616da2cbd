package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/demo"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/cmd/divvy/work"
)

// demoFlags holds the flags of 'divvy demo'.
type demoFlags struct {
	report  string
	inputs  string
	listen  string
	seconds int
	keep    bool
	verbose bool
}

func demoCommand(c *cli.CLI) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run real processes by a tree of shares, and check the result",
		Long: `Start everything on this machine, share out eight slots for half a minute, and check the result.

A private PostgreSQL that is deleted again, a daemon, pilots, and tasks of three activities (checksum, compress,
count words) over the files of the local Go installation. Half way Production/MC gets work: until then its
siblings use its slots. In the end the demo compares each share's slot-seconds with its target's part of what was
delivered at each moment, computes every output again from its input files, and leaves a report folder with
outputs, report.json and plot.svg.

Exit code 0: everything agrees. On a slow machine slots stay idle; the demo says so and does not fail for it.
Ctrl-C leaves nothing behind.`,
		Example: "  divvy demo\n  divvy demo --keep --listen 127.0.0.1:8470",
		Args:    cli.Takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), c, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.report, "report", "", "report folder, new or empty (default ./divvy-demo-report-<time>)")
	fl.StringVar(&f.inputs, "inputs", "", "folder with input files (default: the sources of the local Go installation)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "address of the demo's daemon; port 0 = any free one")
	fl.IntVar(&f.seconds, "seconds", 40, "length of the window that is measured, 4 to 3600")
	fl.BoolVar(&f.keep, "keep", false, "go on serving afterwards, until Ctrl-C")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show the log of daemon and pilots")
	return cmd
}

func runDemo(ctx context.Context, c *cli.CLI, f demoFlags) (err error) {
	if f.seconds < 4 || f.seconds > 3600 {
		return fail.Usagef("--seconds %d is not within 4 … 3600", f.seconds)
	}
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	began := time.Now()
	fmt.Fprintln(c.Out, "starting: private PostgreSQL, migrations, daemon …")
	d := serve.New(f.daemonConfig(), cfg.Log)
	d.Ephemeral()
	if err := d.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop(context.WithoutCancel(ctx))) }()
	fmt.Fprintf(c.Out, "serving at %s after %.1f s\n", d.URL(), time.Since(began).Seconds())
	if cfg.Client, err = client.New(client.Config{URL: d.URL(), UserAgent: "divvy-demo"}); err != nil {
		return err
	}
	defer cfg.Client.Close()
	cfg.Read = d.DSN()
	report, err := demo.Run(ctx, cfg)
	if err != nil {
		return err
	}
	writeVerdict(c, report, time.Since(began))
	if f.keep {
		if err := keepDemo(ctx, c, d, cfg); err != nil {
			return err
		}
	}
	if !report.Passed {
		return fail.ErrSilent
	}
	return nil
}

// keepDemo serves and runs what is submitted, until Ctrl-C.
func keepDemo(ctx context.Context, c *cli.CLI, d *serve.Daemon, cfg demo.Config) error {
	fmt.Fprintf(c.Out, "\nstill serving, with %d slots in queue LOCAL:\n\n  export DIVVY_SERVER=%s\n  divvy shares show --watch\n\nCtrl-C ends it and deletes its database.\n", cfg.Slots, d.URL())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-d.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	err := demo.Keep(ctx, cfg)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// config returns the demo's configuration, except for what needs the daemon.
func (f demoFlags) config(c *cli.CLI) (cfg demo.Config, err error) {
	if f.inputs == "" {
		if f.inputs, err = demo.DefaultInputs(); err != nil {
			return cfg, fail.Hintf(err, "Name one with --inputs FOLDER.")
		}
	}
	if f.inputs, err = filepath.Abs(f.inputs); err != nil {
		return cfg, err
	}
	if f.report == "" {
		f.report = "divvy-demo-report-" + time.Now().Format("20060102-150405")
	}
	if f.report, err = filepath.Abs(f.report); err != nil {
		return cfg, err
	}
	binary, err := os.Executable()
	if err != nil {
		return cfg, err
	}
	width, live := show.Terminal(c.Out)
	log := slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if f.verbose {
		log = slog.New(slog.NewTextHandler(c.Err, nil))
		live = false // a log and a picture on one terminal spoil each other
	}
	return demo.Config{
		Binary: binary, Inputs: f.inputs, Folder: f.report, Window: time.Duration(f.seconds) * time.Second, Slots: 8, Log: log,
		Screen: demo.Screen{Out: c.Out, Live: live, Width: width, Colour: show.Colourful(c.Out), Draw: func(w io.Writer, s wire.Standing) {
			work.WriteStanding(w, s, false, max(0, min(32, width-70)))
		}},
	}, nil
}

// daemonConfig ignores the user's divvy.yml and DIVVY_*: the demo's daemon is not the user's.
func (f demoFlags) daemonConfig() config.Config {
	cfg := config.Defaults()
	cfg.Listen = f.listen
	cfg.Sample = 150 * time.Millisecond
	return cfg
}

// writeVerdict prints the table at the end.
func writeVerdict(c *cli.CLI, r *demo.Report, took time.Duration) {
	fmt.Fprintf(c.Out, "\nslot-seconds over %.0f s on %d slots:\n", r.To.Sub(r.From).Seconds(), r.Slots)
	g := show.New(c.Out, "share", ">target", ">due", ">delivered", ">off", ">allowed", ">jobs", ">failed", "")
	for _, row := range r.Rows {
		verdict := show.Pick(row.WithinPlan, "ok", "off")
		if g.Colour {
			verdict = show.Pick(row.WithinPlan, text.FgGreen, text.FgRed).Sprint(verdict)
		}
		g.Row(row.Share, fmt.Sprintf("%.1f", row.Target), fmt.Sprintf("%.1f", row.Due), fmt.Sprintf("%.1f", row.Delivered),
			fmt.Sprintf("%+.1f", row.Deviation), fmt.Sprintf("%.1f", row.Allowed), row.Jobs, row.Failed, verdict)
	}
	g.Flush()
	if r.Busy() {
		fmt.Fprintf(c.Out, "this machine was busy: %.0f %% of slot time idle\n", 100*r.Idle)
	}
	fmt.Fprintf(c.Out, "%d outputs agree with their input files (%d files, %.1f MB)\n", r.Outputs, r.Files, float64(r.Bytes)/1e6)
	for _, p := range r.Problems {
		fmt.Fprintf(c.Out, "problem: %s\n", p)
	}
	fmt.Fprintf(c.Out, "report: %s (outputs/, report.json, plot.svg)\n", r.Folder)
	fmt.Fprintf(c.Out, "%s after %.0f s\n", show.Pick(r.Passed, "all agrees", "it does not agree"), took.Seconds())
}
