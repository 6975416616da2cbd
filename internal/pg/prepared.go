package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrMixedUp says that something between us and the server hands the session in which one connection has prepared its
// statements to another one: statements are not found, or are there already, now and then.
var ErrMixedUp = errors.New("the database connection mixes up prepared statements, as PgBouncer before 1.21 in transaction mode does, and a later one " +
	"without max_prepared_statements. Set that (1000), or let the pooler work in session mode")

const (
	codeNoSuchStatement    = "26000"
	codeDuplicateStatement = "42P05"
)

// mixedUp names the cause of errors that only a pooler makes.
func mixedUp(err error) error {
	if code := Code(err); code == codeNoSuchStatement || code == codeDuplicateStatement {
		return fmt.Errorf("%w: %w", ErrMixedUp, err)
	}
	return err
}

// CheckPrepared proves that each of two connections has its own prepared statements, ErrMixedUp otherwise. Daemons call it at start
// on connections that may go through a pooler.
func CheckPrepared(ctx context.Context, db *pgxpool.Pool) error {
	for range 3 { // other clients of a pooler may come between
		name := "divvy_check_" + strings.ToLower(rand.Text())
		if err := checkPrepared(ctx, db, name); err != nil {
			return fmt.Errorf("check of prepared statements: %w", mixedUp(err))
		}
	}
	return nil
}

func checkPrepared(ctx context.Context, db *pgxpool.Pool, name string) error {
	for range 2 {
		conn, err := db.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		if _, err := conn.Conn().Prepare(ctx, name, "SELECT 1"); err != nil {
			return err
		}
		defer func() { _ = conn.Conn().Deallocate(context.WithoutCancel(ctx), name) }()
	}
	return nil
}
