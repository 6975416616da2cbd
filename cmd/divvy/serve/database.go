package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// Database is the place of a daemon's data: a private cluster, or another server.
type Database struct {
	cluster *pg.Cluster // nil with an explicit DSN
	dsn     string
	direct  string // for LISTEN and session locks; the same as dsn without a pooler
}

// OpenDatabase starts or attaches to the private cluster; with an explicit DSN there is nothing to start.
func OpenDatabase(ctx context.Context, cfg config.Config, ephemeral bool, log *slog.Logger) (*Database, error) {
	if cfg.Database.DSN != "auto" {
		d := &Database{dsn: cfg.Database.DSN, direct: cfg.Database.Direct}
		if d.direct == "" {
			d.direct = d.dsn
		}
		return d, nil
	}
	cc := pg.ClusterConfig{StateDir: cfg.Database.StateDir, Log: log}
	if ephemeral {
		cc.StateDir, cc.Ephemeral, cc.NoFsync = "", true, true
	}
	cluster, err := pg.StartCluster(ctx, cc)
	if err != nil {
		return nil, err
	}
	return &Database{cluster: cluster, dsn: cluster.DSN(), direct: cluster.DSN()}, nil
}

func (d *Database) pool(ctx context.Context, opts ...pg.Option) (*pgxpool.Pool, error) {
	return d.explain(pg.Open(ctx, d.dsn, opts...))
}

// DirectPool opens connections that keep their session: for migrations and LISTEN.
func (d *Database) DirectPool(ctx context.Context, opts ...pg.Option) (*pgxpool.Pool, error) {
	return d.explain(pg.Open(ctx, d.direct, opts...))
}

func (d *Database) explain(p *pgxpool.Pool, err error) (*pgxpool.Pool, error) {
	if err != nil && d.cluster == nil {
		err = fail.Hintf(err, "The DSN was given with --database, DIVVY_DATABASE or the configuration file. Without it divvy runs a private PostgreSQL.")
	}
	return p, err
}

// Stop ends what openDatabase started.
func (d *Database) Stop(ctx context.Context) error {
	if d.cluster == nil {
		return nil
	}
	return d.cluster.Stop(ctx)
}

// checkPooler refuses a pooler that statements do not come through well.
func (d *Database) checkPooler(ctx context.Context) error {
	if d.dsn == d.direct {
		return nil
	}
	pool, err := d.pool(ctx, pg.MaxConns(2), pg.Name("divvy check"))
	if err != nil {
		return err
	}
	defer pool.Close()
	return pg.CheckPrepared(ctx, pool)
}

// migrate brings the schema up to date, under a lock that daemons share.
func (d *Database) migrate(ctx context.Context, log *slog.Logger) error {
	pool, err := d.DirectPool(ctx, pg.MaxConns(3), pg.Name("divvy migrate"))
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pg.CheckDirect(ctx, pool); err != nil {
		return err
	}
	if err := d.checkPooler(ctx); err != nil {
		return err
	}
	done, err := migrations.Up(ctx, pool)
	for _, s := range done {
		log.Debug("migration applied", "version", s.Version, "name", s.Name)
	}
	if n := len(done); n > 0 {
		log.Info("migrations applied", "first", done[0].Name, "last", done[n-1].Name, "applied", n)
	}
	if err != nil {
		return fmt.Errorf("database schema: %w", err)
	}
	skipped, err := migrations.GoOn(ctx, pool, false)
	if skipped > 0 {
		log.Warn("the database was restored, copied or failed over: ids go on behind those that may have been given since (docs/howto/back-up.md)", "skipped", skipped)
	}
	return err
}
