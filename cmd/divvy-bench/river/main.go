package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// order is what the program is told.
type order struct {
	DSN         string        `json:"dsn"`         // a database of its own: its tables are made, and emptied
	Jobs        int           `json:"jobs"`        // made before the clock starts
	WarmUp      time.Duration `json:"warm_up_ns"`  // does not count
	Duration    time.Duration `json:"duration_ns"` // counts
	Workers     int           `json:"workers"`     // 0 = as River's own bench
	Connections int           `json:"connections"` // 0 = as the DSN says, or the pool's default, as River's own bench
}

// result is what it says.
type result struct {
	JobsPerS    float64 `json:"jobs_per_s"`
	Counted     int64   `json:"counted"` // jobs completed in the time that counts
	ElapsedS    float64 `json:"elapsed_s"`
	Version     string  `json:"version"` // of River
	Workers     int     `json:"workers"`
	Connections int     `json:"connections"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	o.Workers = cmp.Or(o.Workers, workers)
	if o.DSN == "" || o.Jobs <= 2*o.Workers || o.Duration <= 0 || o.WarmUp < 0 || o.Workers < 1 {
		return fmt.Errorf("order: needs a dsn, a duration and more than %d jobs", 2*o.Workers)
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	r.Version = version()
	return json.NewEncoder(out).Encode(r)
}

// version is that of River in this program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/riverqueue/river" {
			return m.Version
		}
	}
	return "unknown"
}
