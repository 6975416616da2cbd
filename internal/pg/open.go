package pg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Option changes the pool that Open makes.
type Option func(*pgxpool.Config)

// MaxConns bounds the connections of the pool; 0 leaves pgx's own choice or that of the DSN.
func MaxConns(n int32) Option {
	return func(c *pgxpool.Config) {
		if n > 0 {
			c.MaxConns = n
		}
	}
}

// Name is shown as application_name; the default is "divvy".
func Name(name string) Option {
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["application_name"] = name }
}

// StatementTimeout ends every statement that takes longer; 0, the default, is no limit.
func StatementTimeout(d time.Duration) Option {
	return func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(d.Milliseconds())
	}
}

// ReadOnly makes the server refuse whatever writes, unless a transaction asks for the opposite.
func ReadOnly() Option {
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on" }
}

// How long Open waits for one connection, and for a server that says that it is starting up.
const (
	connectTimeout  = 5 * time.Second
	startupPatience = 30 * time.Second
)

// How often the pool looks for connections that were idle for long, unless the DSN says it. Each look turns their order round: of a quiet pool
// those that know what they are asked come last from then on.
const (
	healthCheck    = 10 * time.Minute
	pgxHealthCheck = time.Minute
	healthSetting  = "pool_health_check_period"
)

// Open makes a pool and proves that the server answers. A server that is starting up is waited for; one that
// refuses or does not answer is an error at once.
func Open(ctx context.Context, dsn string, opts ...Option) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database DSN: %w", err)
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	if cfg.HealthCheckPeriod == pgxHealthCheck && !strings.Contains(dsn, healthSetting) {
		cfg.HealthCheckPeriod = healthCheck
	}
	params := cfg.ConnConfig.RuntimeParams
	setDefault(params, "application_name", "divvy")
	// A daemon that hangs inside a transaction must not hold the site's locks for ever.
	setDefault(params, "idle_in_transaction_session_timeout", "60000")
	setDefault(params, "timezone", "UTC")
	// Statements are short and planned for any size of table: compiling one takes longer than a thousand runs of it.
	setDefault(params, "jit", "off")
	for _, o := range opts {
		o(cfg)
	}
	settingsAfterConnect(cfg)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	if err := ping(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("database does not answer: %w", mixedUp(err))
	}
	return pool, nil
}

const setAll = "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s (name, value)"

// settingsAfterConnect says by statement what PgBouncer would refuse in the startup packet: every setting that it
// does not know.
func settingsAfterConnect(cfg *pgxpool.Config) {
	params := cfg.ConnConfig.RuntimeParams
	var names, values []string
	for _, name := range []string{"idle_in_transaction_session_timeout", "statement_timeout", "jit", "default_transaction_read_only"} {
		if v, ok := params[name]; ok {
			names, values = append(names, name), append(values, v)
			delete(params, name)
		}
	}
	next := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		fastArrays(conn.TypeMap())
		if _, err := conn.Exec(ctx, setAll, pgx.QueryExecModeExec, names, values); err != nil {
			return err
		}
		if next != nil {
			return next(ctx, conn)
		}
		return nil
	}
}

func setDefault(params map[string]string, key, value string) {
	if _, ok := params[key]; !ok {
		params[key] = value
	}
}

// ping asks until the server answers, as long as it says that it is only starting up.
func ping(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, startupPatience)
	defer cancel()
	for {
		err := pool.Ping(ctx)
		if Code(err) != codeStartingUp {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Beginner starts transactions: a *pgxpool.Pool, a *pgx.Conn, or a pgx.Tx (which then makes a savepoint).
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}
