package offline

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
)

// Reaching runs do on a direct connection to the database of a configuration.
type Reaching = func(ctx context.Context, c *cli.CLI, cfg config.Config, do func(context.Context, *pgxpool.Pool) error, opts ...pg.Option) error

// Reach starts the private cluster for that time if need be. It makes none: who looks at a site, or steers it, means
// one that is there.
func Reach(ctx context.Context, c *cli.CLI, cfg config.Config, do func(context.Context, *pgxpool.Pool) error, opts ...pg.Option) error {
	if cfg.Database.DSN == "auto" && !pg.HasCluster(cfg.Database.StateDir) {
		return fail.Hintf(fmt.Errorf("there is no private PostgreSQL in %s", cfg.Database.StateDir),
			"Say --database, --state-dir or --config as the daemon has them; the first start of a daemon makes a private PostgreSQL.")
	}
	return ReachNew(ctx, c, cfg, do, opts...)
}

// ReachNew makes the private cluster too, where there is none.
func ReachNew(ctx context.Context, c *cli.CLI, cfg config.Config, do func(context.Context, *pgxpool.Pool) error, opts ...pg.Option) (err error) {
	cfg.Log.Level = "warn" // the result is what was asked for, not how the server was reached
	db, err := serve.OpenDatabase(ctx, cfg, false, config.NewLog(c.Err, cfg).Logger())
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.StopWithin)
		defer cancel()
		err = errors.Join(err, db.Stop(stopping))
	}()
	pool, err := db.DirectPool(ctx, append(opts, pg.MaxConns(2))...)
	if err != nil {
		return err
	}
	defer pool.Close()
	return do(ctx, pool)
}

// User is who works on a database without a daemon.
func User() string { return cli.Whoami() + " (database)" }

// As has changes of a database without a daemon noted in the audit.
func As(ctx context.Context) context.Context {
	return access.With(ctx, &access.Caller{Name: User(), Role: access.Admin})
}
