package suite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// place is the database of a run: its own, whoever's the server is.
type place struct {
	dsn     string
	server  string // for the report, without secrets
	process int    // of the private cluster; 0: the server is somebody's else, or cannot be looked into
	pool    *pgxpool.Pool
	query   querier                       // what the checks read with; nil: pool
	cleanup []func(context.Context) error // last first
}

// querier is a pool, or a transaction of a test.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (p *place) reader() querier {
	if p.query != nil {
		return p.query
	}
	return p.pool
}

// tuned is what the private cluster has beyond divvy's own settings for one. fsync and synchronous_commit are on.
var tuned = map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB", "max_connections": "300"}

// openPlace makes the database, migrated and empty. On an error nothing is left.
func openPlace(ctx context.Context, database string, log *slog.Logger) (*place, error) {
	p := &place{}
	if err := p.open(ctx, database, log); err != nil {
		return nil, errors.Join(err, p.close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

func (p *place) open(ctx context.Context, database string, log *slog.Logger) (err error) {
	if database == "" {
		err = p.startCluster(ctx, log)
	} else {
		err = p.createDatabase(ctx, database)
	}
	if err != nil {
		return err
	}
	if p.pool, err = pg.Open(ctx, p.dsn, pg.MaxConns(40), pg.Name("divvy-bench")); err != nil {
		return err
	}
	p.cleanup = append(p.cleanup, func(context.Context) error { p.pool.Close(); return nil })
	if err := p.durable(ctx); err != nil {
		return err
	}
	if database == "" {
		p.process, _ = p.postmaster(ctx)
	}
	_, err = migrations.Up(ctx, p.pool)
	return err
}

func (p *place) startCluster(ctx context.Context, log *slog.Logger) error {
	cluster, err := pg.StartCluster(ctx, pg.ClusterConfig{Ephemeral: true, Settings: tuned, Log: log})
	if err != nil {
		return err
	}
	p.dsn, p.server = cluster.DSN(), "private cluster"
	p.cleanup = append(p.cleanup, cluster.Stop)
	return nil
}

// createDatabase makes a database of a new name on somebody else's server, and drops that one in the end.
func (p *place) createDatabase(ctx context.Context, dsn string) error {
	name := "divvy_bench_" + strings.ToLower(rand.Text()[:10])
	own, err := withDatabase(dsn, name)
	if err != nil {
		return err
	}
	run := func(ctx context.Context, sql string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		return err
	}
	if err := run(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	p.dsn, p.server = own, "database "+name+" on the server of --database"
	p.cleanup = append(p.cleanup, func(ctx context.Context) error {
		return run(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return nil
}

// withDatabase is the DSN with another database, whether it is a URL or words.
func withDatabase(dsn, name string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + name, nil // the last one counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("--database: not a URL") // the error would show the password
	}
	u.Path = "/" + name
	return u.String(), nil
}

// durable refuses a server whose commits are not on disk when it says so.
func (p *place) durable(ctx context.Context) error {
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := p.pool.QueryRow(ctx, "SHOW "+name).Scan(&value); err != nil {
			return err
		}
		if value == "off" || name == "synchronous_commit" && value == "local" {
			return fmt.Errorf("the server has %s = %s: figures of it would not be those of durable commits", name, value)
		}
	}
	return nil
}

// logEnd is how far log and tables have come.
type logEnd struct{ Newest, Folded, Pending int64 }

func (p *place) logEnd(ctx context.Context) (end logEnd, err error) {
	err = p.pool.QueryRow(ctx, query["log_end"]).Scan(&end.Newest, &end.Folded, &end.Pending)
	return end, err
}

// takeIDs takes ids of jobs that begin a partition.
func (p *place) takeIDs(ctx context.Context, n int) (first int64, err error) {
	if _, err := intake.Extend(ctx, p.pool, int64(n)+2*jobSize, jobSize); err != nil {
		return 0, err
	}
	err = p.pool.QueryRow(ctx, query["history_ids"], pgx.StrictNamedArgs{"n": n}).Scan(&first)
	return first, err
}

// settings are those of the server that matter for speed.
func (p *place) settings(ctx context.Context) ([]Setting, error) {
	rows, err := p.pool.Query(ctx, query["settings"])
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Setting])
}

// close undoes openPlace.
func (p *place) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var errs []error
	for i := len(p.cleanup) - 1; i >= 0; i-- {
		errs = append(errs, p.cleanup[i](ctx))
	}
	return errors.Join(errs...)
}
