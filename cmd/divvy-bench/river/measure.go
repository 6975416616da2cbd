package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Settings of River's own bench.
const (
	workers  = 2000
	cooldown = 2 * time.Millisecond
	poll     = 20 * time.Millisecond
)

// portion is how many jobs are inserted at once.
const portion = 5000

type args struct {
	Num int `json:"num"`
}

// Kind names the jobs in River's table.
func (args) Kind() string { return "nothing" }

type worker struct {
	river.WorkerDefaults[args]
}

// Work does nothing: what is measured is the queue.
func (*worker) Work(context.Context, *river.Job[args]) error { return nil }

func measure(ctx context.Context, o order) (r result, err error) {
	cfg, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return r, errors.New("dsn: cannot be read") // the error would show the password
	}
	if o.Connections > 0 {
		cfg.MaxConns = int32(o.Connections)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer pool.Close()
	client, err := newClient(pool, o.Workers)
	if err != nil {
		return r, err
	}
	if err := prepare(ctx, pool, client, o.Jobs); err != nil {
		return r, err
	}
	c := &counter{last: int64(o.Jobs - o.Workers), dry: make(chan struct{}), bad: make(chan error, 1)}
	// The channel has room for all: an event that does not fit would be dropped, and its job not counted.
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: o.Jobs, Kinds: []river.EventKind{
		river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled}})
	defer cancel()
	if err := client.Start(ctx); err != nil {
		return r, err
	}
	go c.listen(events)
	n, elapsed, err := c.steady(ctx, o)
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer done()
	if err = errors.Join(err, client.StopAndCancel(stopping)); err != nil {
		return r, err
	}
	if err := empty(ctx, pool, c.n.Load()); err != nil {
		return r, err
	}
	return result{JobsPerS: float64(n) / elapsed.Seconds(), Counted: n, ElapsedS: elapsed.Seconds(), Workers: o.Workers,
		Connections: int(cfg.MaxConns)}, nil
}

func newClient(pool *pgxpool.Pool, workers int) (*river.Client[pgx.Tx], error) {
	all := river.NewWorkers()
	river.AddWorker(all, &worker{})
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: cooldown, FetchPollInterval: poll, Workers: all,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Logger: slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// prepare leaves n waiting jobs in a table without dead rows.
func prepare(ctx context.Context, pool *pgxpool.Pool, client *river.Client[pgx.Tx], n int) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, "TRUNCATE river_job"); err != nil {
		return err
	}
	for done := 0; done < n; {
		batch := make([]river.InsertManyParams, min(portion, n-done))
		for i := range batch {
			batch[i].Args = args{done + i}
		}
		if _, err := client.InsertManyFast(ctx, batch); err != nil {
			return err
		}
		done += len(batch)
	}
	_, err = pool.Exec(ctx, "VACUUM ANALYZE river_job")
	return err
}

// empty checks that the jobs that were counted are completed in the table, and empties it: whoever is measured next on
// this server is not to be bothered by its autovacuum.
func empty(ctx context.Context, pool *pgxpool.Pool, counted int64) error {
	var n int64
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&n); err != nil {
		return err
	}
	if n < counted {
		return fmt.Errorf("%d jobs were counted and %d are completed", counted, n)
	}
	_, err := pool.Exec(ctx, "TRUNCATE river_job")
	return err
}

// counter counts jobs whose completion is committed.
type counter struct {
	n    atomic.Int64
	last int64         // when so many are done, too few are left to keep all workers busy
	dry  chan struct{} // closed then
	bad  chan error
}

func (c *counter) listen(events <-chan *river.Event) {
	for e := range events {
		if e.Kind != river.EventKindJobCompleted {
			select {
			case c.bad <- fmt.Errorf("job %d: %s", e.Job.ID, e.Kind):
			default: // one is enough
			}
			continue
		}
		if c.n.Add(1) == c.last {
			close(c.dry)
		}
	}
}

// steady is what is counted after the warm-up and before the end, which comes sooner when jobs run out.
func (c *counter) steady(ctx context.Context, o order) (n int64, elapsed time.Duration, err error) {
	select {
	case <-time.After(o.WarmUp):
	case <-c.dry:
		return 0, 0, fmt.Errorf("%d jobs are not enough for the warm-up", o.Jobs)
	case err := <-c.bad:
		return 0, 0, err
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	before, began := c.n.Load(), time.Now()
	select {
	case <-time.After(o.Duration):
	case <-c.dry:
	case err := <-c.bad:
		return 0, 0, err
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	return c.n.Load() - before, time.Since(began), nil // none on a machine that is too busy
}
