package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// Config is what a run needs.
type Config struct {
	Database string // DSN of a server on which a database may be made; empty = a private cluster
	// Serve starts the daemon on a migrated database that has a site. Leases must last for hours.
	Serve    func(ctx context.Context, dsn string) (Served, error)
	Load     []string  // the program, with its arguments, that runs load.Run
	Daemon   []string  // the program, with its arguments, that runs Daemon with Serve
	Progress io.Writer // hears of every step; no figures
	Log      *slog.Logger
}

// Run makes a stage, has it measured, and returns the report. Everything that it started is stopped, and its database gone, when it returns.
func Run(ctx context.Context, cfg Config, s *Stage, measure func(context.Context) error) (report *figure.Report, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s.Config = cfg
	before := machine("at the start")
	if last, err := strconv.ParseFloat(strings.Fields(loadAverage())[0], 64); err == nil && last > float64(runtime.NumCPU())/4 {
		s.Book.Say("others use this machine (load average %s): the figures will be worth little", loadAverage())
	}
	s.Book.Say("making a database")
	if s.Place, err = OpenPlace(ctx, cfg.Database, cfg.Log); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	if err := measure(ctx); err != nil {
		return nil, err
	}
	server, err := s.Place.settings(ctx)
	if err != nil {
		return nil, err
	}
	report = &s.Book.Report
	report.Settings = slices.Concat(before, machine("at the end")[:1], report.Settings, server)
	report.TookS = time.Since(report.Began).Seconds()
	return report, nil
}

// machine is what the figures were measured on; the load of the others comes first.
func machine(when string) []figure.Setting {
	cpus := fmt.Sprintf("%d (GOMAXPROCS %d), %s", runtime.NumCPU(), runtime.GOMAXPROCS(0), field("/proc/cpuinfo", "model name"))
	return []figure.Setting{{Name: "load average " + when, Value: loadAverage()}, {Name: "CPUs", Value: cpus},
		{Name: "memory", Value: field("/proc/meminfo", "MemTotal")}, {Name: "Go", Value: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}}
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 2 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}

// field is the first value of a "name : value" file of the kernel.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Pause waits, unless ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Until asks again and again, so often, until it is done; after so long the error is what has not come about.
func Until(ctx context.Context, every, within time.Duration, not string, done func() (bool, error)) error {
	deadline := time.Now().Add(within)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s %s", within, not)
		}
		if err := Pause(ctx, every); err != nil {
			return err
		}
	}
}

// Used is processor time up to a moment: it moves little with the load of others, which take from rates as they like.
type Used struct {
	Own      time.Duration // of this process: the bench, and the daemon within it
	Programs time.Duration // of programs that it started and that have ended
	Postgres time.Duration // of the private cluster; 0 where the server is not ours to look into
}

// Used reads the clocks.
func (p *Place) Used() Used {
	u := Used{Own: rusage(syscall.RUSAGE_SELF), Programs: rusage(syscall.RUSAGE_CHILDREN)}
	if p.Process > 0 {
		u.Postgres, _ = proc.TreeCPU(p.Process) // 0 where there is no /proc
	}
	return u
}

// Since is what has been used from a moment up to this one.
func (u Used) Since(from Used) Used {
	return Used{u.Own - from.Own, u.Programs - from.Programs, u.Postgres - from.Postgres}
}

// rusage is the processor time of this process or of those that it waited for.
func rusage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Micros is processor time divided among n, in microseconds.
func Micros(d time.Duration, n int) float64 { return float64(d) / 1e3 / float64(max(n, 1)) }

// Effort names the series of processor time a claim, by what can be seen.
func (p *Place) Effort() string {
	if p.Process > 0 {
		return "processor time a claim, divvy and PostgreSQL"
	}
	return "processor time a claim, divvy alone"
}
