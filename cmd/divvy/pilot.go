package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/logs"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
	"github.com/divvyhq/divvy/internal/slurm"
)

// pilotFlags are the flags of 'divvy pilot'.
type pilotFlags struct {
	pilot.Config
	until     string
	logFormat string
	logLevel  string
	guard     string
	stay      bool
}

// pilotCommand runs jobs of a queue until it is told to leave.
func pilotCommand(c *cli.CLI) *cobra.Command {
	var f pilotFlags
	cmd := &cobra.Command{
		Use:   "pilot --queue QUEUE [--slots N]",
		Short: "Run jobs of a queue on this machine",
		Long: `Run jobs of a queue on this machine, each as a process group in a folder of its own.

SIGTERM, SIGUSR2 or Ctrl-C: take no more jobs and leave when the running ones have ended. A second one: kill
them, give them back, leave. A third one: leave at once. See docs/pilots.md.`,
		Example: "  divvy pilot --queue CERN --slots 8\n  divvy pilot --queue CERN --slots 8 --cores 16 --memory-mb 64000 --label os=el9 --max-idle 10m",
		Args:    cli.Takes(),
	}
	f.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.guard != "" {
			payload.Guard(c.In, f.guard)
			return nil
		}
		return runPilot(cmd.Context(), c, f)
	}
	return cmd
}

func (f *pilotFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.Queue, "queue", "q", "", "queue that the pilot runs in (required)")
	fs.IntVarP(&f.Slots, "slots", "n", runtime.NumCPU(), "jobs at once")
	fs.IntVar(&f.Cores, "cores", 0, "cores to share out among the jobs (default: as many as slots)")
	fs.Int64Var(&f.MemoryMB, "memory-mb", 0, "memory to share out, in MB (default: the queue's figure)")
	fs.Int64Var(&f.DiskMB, "disk-mb", 0, "scratch space to share out, in MB (default: the queue's figure)")
	fs.StringVar(&f.until, "until", "", "when the batch system ends this pilot: a time, or what is left as 2h or 1-02:30:00; jobs must fit into that (default: never)")
	fs.DurationVar(&f.DrainWithin, "drain-within", 0, "how long jobs may go on after the first signal; then they are given back (default: as long as they like)")
	fs.StringToStringVarP(&f.Labels, "label", "l", nil, "labels of the slots, over those of the queue (os=el9,…)")
	fs.StringVar(&f.Name, "name", "", "name of the pilot, unique in the site (default: its batch job, else the host, and a random part)")
	fs.StringVar(&f.Node, "node", "", "name of the machine (default: its host name)")
	fs.StringSliceVar(&f.Devices, "device", nil, "devices for claims, by kind and number (gpu:0,gpu:1,…)")
	fs.StringVar(&f.Payload.WorkDir, "work-dir", "", "folder of this pilot alone (default: one in the temporary folder)")
	fs.StringVar(&f.Payload.User, "payload-user", "", "user that jobs run as, so that they reach neither token nor pilot; takes root (default: that of the pilot)")
	fs.BoolVar(&f.Payload.KeepWork, "keep-work", false, "keep all files of ended jobs")
	fs.IntVar(&f.Payload.KeepLogs, "keep-logs", 200, "keep the logs of so many ended jobs; -1 = none")
	fs.StringVar(&f.Logs, "logs", "", "keep the whole logs of ended jobs in this folder, or at s3://bucket/prefix (see docs/howto/logs.md)")
	fs.IntVar(&f.MaxJobs, "max-jobs", 0, "leave after so many jobs (default: no end)")
	fs.DurationVar(&f.MaxIdle, "max-idle", 0, "leave after so long without a job (default: no end)")
	fs.BoolVar(&f.stay, "stay", false, "ask --server alone, and never the daemon that its answers name as the leader")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&f.guard, "guard", "", "be the guard of the pilot with this mark: kill its jobs when it is gone")
	_ = fs.MarkHidden("guard")
	_ = cmd.RegisterFlagCompletionFunc("log-format", cli.Fixed("text", "json"))
	_ = cmd.RegisterFlagCompletionFunc("log-level", cli.Fixed("debug", "info", "warn", "error"))
}

func runPilot(ctx context.Context, c *cli.CLI, f pilotFlags) error {
	if f.Queue == "" {
		return fail.Usagef("no queue given; 'divvy queue list' shows which there are")
	}
	if f.Slots < 1 {
		return fail.Usagef("--slots %d: a pilot needs at least one", f.Slots)
	}
	until, err := ends(f.until, time.Now())
	if err != nil {
		return err
	}
	if _, err := logs.ParseLevel(f.logLevel); err != nil {
		return fail.Usagef("--log-level %v", err)
	}
	// The pilot repeats calls by its own rules, so the client must not.
	cl, err := c.Asks(client.Config{UserAgent: "divvy-pilot/" + build.Version(), Patience: -1, Stay: f.stay})
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := payload.Conceal(); err != nil {
		return fmt.Errorf("hide the token from jobs: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program, for the guard: %w", err)
	}
	cfg := f.Config
	cfg.Client, cfg.Payload.Guard, cfg.Payload.Alone = cl, []string{self, "pilot", "--guard"}, true
	cfg.Until = until
	if batch := batchJob(os.Getenv); cfg.Name == "" && batch != "" {
		cfg.Name = batch + "-" + strings.ToLower(rand.Text()[:6])
	}
	cfg.Log = config.NewLog(c.Err, config.Config{Log: config.Log{Format: f.logFormat, Level: f.logLevel}}).Logger()
	kill, quit := secondSignal(cfg.Log)
	defer quit()
	cfg.Kill = kill
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGUSR2)
	defer stop()
	return pilot.Run(ctx, cfg)
}

// ends reads --until: when the pilot's batch job ends; zero: never. Beside times and durations it reads what squeue prints: 1-02:03:04,
// UNLIMITED.
func ends(text string, now time.Time) (at time.Time, err error) {
	if slices.Contains([]string{"", "UNLIMITED", "NOT_SET"}, strings.ToUpper(text)) {
		return time.Time{}, nil
	}
	left, err := time.ParseDuration(text)
	if err != nil && strings.Contains(text, ":") {
		left, err = slurm.ParseTime(text)
	}
	at = now.Add(left)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if err != nil {
			at, err = time.ParseInLocation(layout, text, now.Location())
		}
	}
	switch {
	case err != nil:
		return time.Time{}, fail.Usagef("--until %q: expected a time as 2026-01-31T12:00, or a duration as 90m or 1-02:30:00", text)
	case at.Sub(now) < time.Second:
		return time.Time{}, fail.Usagef("--until %s: that is less than 1s from now", text)
	}
	return at, nil
}

// batchJob names the batch job of this process, as slurm-123; empty: it is none.
func batchJob(env func(string) string) string {
	for _, system := range [][2]string{{"slurm", "SLURM_JOB_ID"}, {"pbs", "PBS_JOBID"}, {"lsf", "LSB_JOBID"}, {"gridengine", "JOB_ID"}} {
		if id := env(system[1]); id != "" && !strings.Contains(id, "/") {
			return system[0] + "-" + id
		}
	}
	// HTCondor has no variable for it, but a file.
	if ad, err := os.ReadFile(env("_CONDOR_JOB_AD")); err == nil {
		if id := condorJob.FindSubmatch(ad); id != nil {
			return "htcondor-" + string(id[1])
		}
	}
	return ""
}

var condorJob = regexp.MustCompile(`(?m)^GlobalJobId = "[^"]*#(\d+\.\d+)#\d+"$`)

// secondSignal returns a channel that the second SIGINT, SIGTERM or SIGUSR2 (Grid Engine's notice) closes; the first one ends the
// command's context. A third one meets no handler any more and ends the program.
func secondSignal(log *slog.Logger) (kill <-chan struct{}, quit func()) {
	signals, second, done := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR2)
	go func() {
		for n := range 2 {
			select {
			case <-signals:
			case <-done:
				return
			}
			if n == 0 {
				log.Info("no more jobs; those that run may end. Once more to kill them")
			}
		}
		signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR2)
		close(second)
	}()
	return second, func() {
		signal.Stop(signals)
		close(done)
	}
}
