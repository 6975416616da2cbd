package outgrow

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Sizes is how much is measured of what a job costs, and of reports beside jobs.
type Sizes struct {
	Jobs   int           `json:"jobs"`  // that are made and weighed
	Nodes  int           `json:"nodes"` // that pull and finish at the same time
	Batch  int           `json:"batch"` // jobs that a node takes and ends at once
	Round  time.Duration `json:"round"`
	Rounds int           `json:"rounds"`
}

// Large takes about two minutes.
func Large() Sizes {
	return Sizes{Jobs: 400_000, Nodes: 32, Batch: 64, Round: 5 * time.Second, Rounds: 3}
}

// run is one under way.
type run struct {
	*stage.Stage
	sizes  Sizes
	daemon *stage.Process
	ended  int64
	gone   int // jobs to be made anew before the next round
}

// Run measures on a private cluster: the replica is one of it.
func Run(ctx context.Context, cfg stage.Config, o Sizes) (*figure.Report, error) {
	if o.Jobs < 1000 || o.Nodes < 1 || o.Batch < 1 || o.Batch > 1000 || o.Round < 100*time.Millisecond || o.Rounds < 1 {
		return nil, fmt.Errorf("these sizes make no sense: 1000 jobs, a node, a batch of 1 to 1000, a round of 100ms at least: %+v", o)
	}
	cfg.Database = ""
	r := &run{Stage: &stage.Stage{Sizes: stage.Sizes{Ready: o.Jobs, Rounds: 1}, Plan: stage.Base, Book: figure.NewBook(o, cfg.Progress)}, sizes: o}
	return stage.Run(ctx, cfg, r.Stage, r.measure)
}

func (r *run) measure(ctx context.Context) (err error) {
	if err := r.cost(ctx, "made ready", func() (int, error) { _, err := r.Load(ctx); return r.Ready, err }); err != nil {
		return err
	}
	r.Book.Say("starting the daemon")
	if r.daemon, err = stage.Start(ctx, r.Config.Daemon, r.Place.DSN); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.daemon.Stop()) }()
	if err := r.costs(ctx); err != nil {
		return err
	}
	if err := r.reports(ctx); err != nil {
		return err
	}
	return r.left(ctx)
}

// costs takes the jobs through their lives, one step after the other.
func (r *run) costs(ctx context.Context) error {
	if err := r.Place.InLog(ctx); err != nil {
		return err
	}
	idle, _, err := r.daemon.Memory()
	if err != nil {
		return err
	}
	nodes := r.newNodes()
	most := r.Ready * 9 / 10 / len(nodes) // the last ones are in few queues
	fill := func(n *node) error { return n.fill(ctx, most) }
	renew, finish := func(n *node) error { return n.renew(ctx) }, func(n *node) error { return n.finish(ctx) }
	for _, step := range []struct {
		what string
		take func(*node) error
	}{{"leased", fill}, {"renewed", renew}, {"renewed again", renew}, {"ended", finish}} {
		if err := r.cost(ctx, step.what, func() (int, error) { return nodes.all(ctx, step.take) }); err != nil {
			return err
		}
	}
	r.ended = nodes.finished()
	r.gone = int(r.ended)
	now, peak, err := r.daemon.Memory()
	r.Book.Costs = append(r.Book.Costs, figure.Cost{Step: "daemon", Memory: fmt.Sprintf("%.0f MB resident with %d ready jobs before the first pull, %.0f at the most with %d leases, %.0f when they had ended",
		idle, r.Ready, peak, r.ended, now)})
	return err
}

// left checks that every end that was recorded is there, once, and no lease.
func (r *run) left(ctx context.Context) error {
	if err := r.Place.Level(ctx); err != nil {
		return err
	}
	type left struct{ Ended, Jobs, Leases int64 }
	l, err := pg.Row[left](ctx, r.Place.Pool, query["outgrow_left"])
	if err != nil {
		return err
	}
	if l != (left{r.ended, r.ended, 0}) {
		return recount.Failedf("%d ends of %d jobs and %d leases in the database; %d ends were recorded", l.Ended, l.Jobs, l.Leases, r.ended)
	}
	r.Book.Checked("%d ends were recorded and are there, each once; no lease is left", r.ended)
	return nil
}

// meter is what had been used by a moment.
type meter struct {
	at               time.Time
	wal              float64
	postgres, daemon time.Duration
	tables           []table
}

// table is what a table weighs.
type table struct {
	Name       string
	RowsBytes  float64
	IndexBytes float64
}

// read takes the meter's figures when the tables have all that is in the log.
func (r *run) read(ctx context.Context) (m meter, err error) {
	if err := r.Place.Level(ctx); err != nil {
		return m, err
	}
	if m.wal, err = recount.Value[float64](ctx, r.Place.Pool, query["wal"]); err != nil {
		return m, err
	}
	if m.tables, err = pg.Collect[table](ctx, r.Place.Pool, query["weights"]); err != nil {
		return m, err
	}
	if m.postgres, err = proc.TreeCPU(r.Place.Process); err != nil {
		return m, err
	}
	if r.daemon != nil {
		m.daemon, err = r.daemon.CPU()
	} else {
		m.daemon = r.Place.Used().Own
	}
	m.at = time.Now()
	return m, err
}

// cost takes a step and notes what it took.
func (r *run) cost(ctx context.Context, what string, step func() (int, error)) error {
	r.Book.Say("%d jobs: %s", r.Ready, what)
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
	c := figure.Cost{Step: what, Jobs: n, Seconds: to.at.Sub(from.at).Seconds(), WAL: (to.wal - from.wal) / of, Bytes: map[string]string{},
		Postgres: stage.Micros(to.postgres-from.postgres, n), Daemon: stage.Micros(to.daemon-from.daemon, n)}
	for i, t := range to.tables {
		if rows, index := (t.RowsBytes-from.tables[i].RowsBytes)/of, (t.IndexBytes-from.tables[i].IndexBytes)/of; rows >= 0.5 || index >= 0.5 {
			c.Bytes[t.Name] = fmt.Sprintf("%.0f + %.0f", rows, index)
		}
	}
	r.Book.Costs = append(r.Book.Costs, c)
	return nil
}
