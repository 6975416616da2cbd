package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNotDirect says that something between us and the server, PgBouncer in transaction mode for instance, does
// not keep sessions: LISTEN and session locks silently do nothing there.
var ErrNotDirect = errors.New("the database connection does not keep sessions: LISTEN and session locks do not work through it. " +
	"Name a direct connection in database_direct, or let the pooler work in session mode")

// CheckDirect proves that a notification sent on one connection arrives on another, as it does when both are
// sessions of one server. Daemons call it at start on the pool that they listen on.
func CheckDirect(ctx context.Context, db *pgxpool.Pool) error {
	if err := CheckPrepared(ctx, db); errors.Is(err, ErrMixedUp) {
		return fmt.Errorf("%w (%w)", ErrNotDirect, err)
	}
	listener, err := db.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("check of the direct connection: %w", err)
	}
	defer listener.Release()
	sender, err := db.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("check of the direct connection: %w", err)
	}
	defer sender.Release()
	return checkDirect(ctx, listener.Conn(), sender.Conn(), 2*time.Second)
}

func checkDirect(ctx context.Context, listener, sender *pgx.Conn, patience time.Duration) error {
	channel := "divvy_check_" + strings.ToLower(rand.Text()) // letters and digits: needs no quotes
	if _, err := listener.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("check of the direct connection: %w", err)
	}
	defer func() { _, _ = listener.Exec(context.WithoutCancel(ctx), "UNLISTEN "+channel) }()
	if _, err := sender.Exec(ctx, "NOTIFY "+channel); err != nil {
		return fmt.Errorf("check of the direct connection: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n, err := listener.WaitForNotification(wait)
		switch {
		case err == nil && n.Channel == channel:
			return nil
		case err == nil: // somebody else's
		case wait.Err() != nil && ctx.Err() == nil:
			return ErrNotDirect
		default:
			return fmt.Errorf("check of the direct connection: %w", err)
		}
	}
}
