package suite

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// Cost is what one step in the life of a job took.
type Cost struct {
	Step     string            `json:"step"`
	Jobs     int               `json:"jobs"`
	Seconds  float64           `json:"seconds"`
	WAL      float64           `json:"wal_bytes"`   // a job, as all below
	Postgres float64           `json:"postgres_us"` // processor time, checkpoints and vacuums of the while included
	Daemon   float64           `json:"daemon_us"`   // of the daemon; of jobs that are made ready: of the bench itself, which generates them
	Bytes    map[string]string `json:"bytes"`       // by table: rows + indexes
	Memory   string            `json:"memory,omitempty"`
}

// meter is what had been used by a moment.
type meter struct {
	at               time.Time
	wal              float64
	postgres, daemon time.Duration
	weights          []tableWeight
}

type tableWeight struct {
	Name       string
	RowsBytes  float64
	IndexBytes float64
}

// read takes the meter's figures when the tables have all that is in the log.
func (r *outgrowRun) read(ctx context.Context) (m meter, err error) {
	if r.store != nil {
		if err := r.level(ctx); err != nil {
			return m, err
		}
	}
	if err := r.place.pool.QueryRow(ctx, query["wal"]).Scan(&m.wal); err != nil {
		return m, err
	}
	rows, err := r.place.pool.Query(ctx, query["weights"])
	if err != nil {
		return m, err
	}
	if m.weights, err = pgx.CollectRows(rows, pgx.RowToStructByName[tableWeight]); err != nil {
		return m, err
	}
	if m.postgres, err = proc.TreeCPU(r.postgres); err != nil {
		return m, err
	}
	if r.daemon != nil {
		m.daemon, err = r.daemon.cpu()
	} else {
		m.daemon = rusage(syscall.RUSAGE_SELF)
	}
	m.at = time.Now()
	return m, err
}

// cost takes a step and notes what it took.
func (r *outgrowRun) cost(ctx context.Context, what string, step func() (int, error)) error {
	r.say("%d jobs: %s", r.Jobs, what)
	from, err := r.read(ctx)
	if err != nil {
		return err
	}
	n, err := step()
	if err != nil {
		return err
	}
	to, err := r.read(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("no job was %s", what)
	}
	of := float64(n)
	c := Cost{Step: what, Jobs: n, Seconds: to.at.Sub(from.at).Seconds(), WAL: (to.wal - from.wal) / of, Bytes: map[string]string{},
		Postgres: float64((to.postgres - from.postgres).Microseconds()) / of, Daemon: float64((to.daemon - from.daemon).Microseconds()) / of}
	for i, w := range to.weights {
		if rows, index := (w.RowsBytes-from.weights[i].RowsBytes)/of, (w.IndexBytes-from.weights[i].IndexBytes)/of; rows >= 0.5 || index >= 0.5 {
			c.Bytes[w.Name] = fmt.Sprintf("%.0f + %.0f", rows, index)
		}
	}
	r.report.Costs = append(r.report.Costs, c)
	return nil
}

// line is the cost for people.
func (c Cost) line(w io.Writer) {
	if c.Memory != "" {
		fmt.Fprintf(w, "  %s: %s\n", c.Step, c.Memory)
		return
	}
	fmt.Fprintf(w, "  %s: %d jobs in %.1f s; each %.0f B of WAL, %.1f us of PostgreSQL, %.1f us of the daemon", c.Step, c.Jobs, c.Seconds, c.WAL, c.Postgres, c.Daemon)
	for _, name := range sortedKeys(c.Bytes) {
		fmt.Fprintf(w, "; %s %s B", name, c.Bytes[name])
	}
	fmt.Fprintln(w)
}

// postmaster is the process of the private cluster.
func (p *place) postmaster(ctx context.Context) (int, error) {
	var data string
	if err := p.pool.QueryRow(ctx, "SHOW data_directory").Scan(&data); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}
