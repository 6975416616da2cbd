package stage

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/migrations"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Place is the database of a run: its own, on a private or a given server.
type Place struct {
	DSN     string
	Pool    *pgxpool.Pool
	Process int                           // of the private cluster; 0: another server, or one that cannot be inspected
	Cleanup []func(context.Context) error // in the end, last first
	server  string                        // for the report, without secrets
	site    *site.Store
}

// Tuned is what the private cluster has beyond divvy's own settings for one. fsync and synchronous_commit are on.
var Tuned = map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB", "max_connections": "300"}

// OpenPlace makes the database, migrated and empty. On an error nothing is left.
func OpenPlace(ctx context.Context, database string, log *slog.Logger) (*Place, error) {
	p := &Place{}
	if err := p.open(ctx, database, log); err != nil {
		return nil, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

func (p *Place) open(ctx context.Context, database string, log *slog.Logger) (err error) {
	if database == "" {
		err = p.startCluster(ctx, log)
	} else {
		err = p.createDatabase(ctx, database)
	}
	if err != nil {
		return err
	}
	if p.Pool, err = pg.Open(ctx, p.DSN, pg.MaxConns(40), pg.Name("divvy-bench")); err != nil {
		return err
	}
	p.site = On(p.Pool).site
	p.Cleanup = append(p.Cleanup, func(context.Context) error { p.Pool.Close(); return nil })
	if err := p.durable(ctx); err != nil {
		return err
	}
	if database == "" {
		p.Process, _ = p.postmaster(ctx)
	}
	_, err = migrations.Up(ctx, p.Pool)
	return err
}

// On returns the place of a migrated database that is there already.
func On(pool *pgxpool.Pool) *Place {
	return &Place{Pool: pool, DSN: pool.Config().ConnString(), site: site.NewStore(site.Config{Pool: pool, Hooks: site.Hooks{
		Barrier: intake.Barrier, Live: view.Live, Applied: intake.Rebase}})}
}

func (p *Place) startCluster(ctx context.Context, log *slog.Logger) error {
	cluster, err := pg.StartCluster(ctx, pg.ClusterConfig{Ephemeral: true, Settings: Tuned, Log: log})
	if err != nil {
		return err
	}
	p.DSN, p.server = cluster.DSN(), "private cluster"
	p.Cleanup = append(p.Cleanup, cluster.Stop)
	return nil
}

// postmaster is the process of the private cluster.
func (p *Place) postmaster(ctx context.Context) (int, error) {
	data, err := recount.Value[string](ctx, p.Pool, "SHOW data_directory")
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// createDatabase makes a database with a new name on a given server, and drops it in the end.
func (p *Place) createDatabase(ctx context.Context, dsn string) error {
	name := "divvy_bench_" + strings.ToLower(rand.Text()[:10])
	own, err := WithDatabase(dsn, name)
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
	p.DSN, p.server = own, "database "+name+" on the server of --database"
	p.Cleanup = append(p.Cleanup, func(ctx context.Context) error {
		return run(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return nil
}

// WithDatabase is the DSN with another database, whether it is a URL or words.
func WithDatabase(dsn, name string) (string, error) {
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
func (p *Place) durable(ctx context.Context) error {
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		value, err := recount.Value[string](ctx, p.Pool, "SHOW "+name)
		if err != nil {
			return err
		}
		if value == "off" || name == "synchronous_commit" && value == "local" {
			return fmt.Errorf("the server has %s = %s: figures of it would not be those of durable commits", name, value)
		}
	}
	return nil
}

// Version is the site's.
func (p *Place) Version(ctx context.Context) (shares.Version, error) {
	at, err := p.site.Load(ctx)
	if err != nil {
		return shares.Version{}, err
	}
	return at.Version(), nil
}

// LogEnd is how far log and tables have come.
type LogEnd struct{ Newest, Folded, Pending int64 }

// LogEnd reads it.
func (p *Place) LogEnd(ctx context.Context) (LogEnd, error) {
	return pg.Row[LogEnd](ctx, p.Pool, query["log_end"])
}

// InLog waits until the leader has taken all that was made into the log.
func (p *Place) InLog(ctx context.Context) error {
	return Until(ctx, 10*time.Millisecond, 5*time.Minute, "rows of the outbox are not in the log", func() (bool, error) {
		end, err := p.LogEnd(ctx)
		return end.Pending == 0, err
	})
}

// Level has the tables made of all that is in the log by now, and the sums that are made of them now and then: what ended between two rounds
// is no part of the second. The daemon folds too; what it has not come to yet is part of what was measured.
func (p *Place) Level(ctx context.Context) error {
	const batches = 400 // a step, as in a daemon
	end, err := p.LogEnd(ctx)
	if err != nil {
		return err
	}
	folder := fold.New(p.Pool, ledger.New(p.Pool), func(ctx context.Context, number int64) (shares.Version, error) {
		at, err := p.site.Get(ctx, number)
		if err != nil {
			return shares.Version{}, err
		}
		return at.Version(), nil
	})
	for end.Folded < end.Newest {
		if _, err := folder.Fold(ctx, batches); err != nil && !errors.Is(err, fold.ErrRaced) {
			return err
		}
		at, err := folder.Position(ctx)
		if err != nil {
			return err
		}
		end.Folded = at.Seq
	}
	_, err = (&series.Sampler{DB: p.Pool}).Wait(ctx) // or the daemon is at it
	return errors.Join(err, folder.RollNodes(ctx))
}

// PiecesLeft is how many jobs these tasks have still to make; none named: all tasks.
func (p *Place) PiecesLeft(ctx context.Context, tasks ...int64) (int64, error) {
	return recount.Value[int64](ctx, p.Pool, query["pieces_left"], pgx.StrictNamedArgs{"tasks": tasks})
}

// Room for ids of jobs that a daemon makes ahead, and the size of their partitions.
const (
	jobRoom = 20_000_000
	jobSize = 10_000_000
)

// TakeIDs takes ids of jobs that begin a partition.
func (p *Place) TakeIDs(ctx context.Context, n int) (first int64, err error) {
	if _, err := intake.Extend(ctx, p.Pool, int64(n)+2*jobSize, jobSize); err != nil {
		return 0, err
	}
	return recount.Value[int64](ctx, p.Pool, query["take_ids"], pgx.StrictNamedArgs{"n": n})
}

// MakeJobs writes so many rows of jobs, for ids that were taken.
func (p *Place) MakeJobs(ctx context.Context, first int64, n int) error {
	_, err := p.Pool.Exec(ctx, query["make_jobs"], pgx.StrictNamedArgs{"first": first, "n": n})
	return err
}

// InSnapshot has all be read of one moment. One process reads it: with PostgreSQL's parallel workers the bench would take all
// of a small machine from the daemon that it watches.
func (p *Place) InSnapshot(ctx context.Context, read func(pg.Querier) error) error {
	return pgx.BeginTxFunc(ctx, p.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL max_parallel_workers_per_gather = 0"); err != nil {
			return err
		}
		return read(tx)
	})
}

// settings are those of the server that matter for speed.
func (p *Place) settings(ctx context.Context) ([]figure.Setting, error) {
	server, err := pg.Collect[figure.Setting](ctx, p.Pool, query["settings"])
	return append([]figure.Setting{{Name: "server", Value: p.server}}, server...), err
}

// Close undoes OpenPlace.
func (p *Place) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var errs []error
	for i := len(p.Cleanup) - 1; i >= 0; i-- {
		errs = append(errs, p.Cleanup[i](ctx))
	}
	return errors.Join(errs...)
}
