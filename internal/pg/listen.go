package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// listenCheck is how often a silent connection is asked whether it is still one.
const listenCheck = 30 * time.Second

// Notify sends a payload to all who listen on channel.
func Notify(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, channel, payload string) error {
	_, err := db.Exec(ctx, "SELECT pg_notify($1, $2)", channel, payload)
	return Named("notify", err)
}

// Listen calls fn with the payload of each notification on channel, and with "" once it listens, since what was
// said before is lost. It returns when ctx ends or the connection breaks; the caller calls it again. dsn must
// not lead through a pooler in transaction mode: nothing would ever arrive.
func Listen(ctx context.Context, dsn, channel string, fn func(payload string)) error {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	setDefault(cfg.RuntimeParams, "application_name", "divvy listen")
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fn("")
	for {
		bounded, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(bounded)
		cancel()
		switch {
		case err == nil:
			fn(n.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && !conn.IsClosed():
			if err := conn.Ping(ctx); err != nil {
				return fmt.Errorf("listen: %w", err)
			}
		default:
			return fmt.Errorf("listen: %w", err)
		}
	}
}
