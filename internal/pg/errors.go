package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// SQLSTATEs that the code asks for by name.
const (
	CodeUniqueViolation  = "23505"
	CodeCheckViolation   = "23514"
	CodeLockNotAvailable = "55P03"
	CodeDeadlock         = "40P01"
	CodeQueryCanceled    = "57014" // by statement_timeout, or by hand
	CodeUndefinedTable   = "42P01"
	CodeUndefinedColumn  = "42703"
	CodeReadOnly         = "25006" // a write on a connection of ReadOnly

	codeSerialization = "40001"
	codeStartingUp    = "57P03"
)

// Named says of an error what was asked for. nil stays nil.
func Named(what string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// Code is the SQLSTATE of err, or "" when the server did not send err.
func Code(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// IsRetryable says that a transaction collided with another one and may be run again from its start.
func IsRetryable(err error) bool {
	code := Code(err)
	return code == codeSerialization || code == CodeDeadlock
}

// IsUnavailable says that the server cannot be used now, although nothing is wrong with what was asked: it
// refuses or dropped the connection, starts up, shuts down, has no connection, memory or disk space left, or did not
// answer before the deadline or a timeout of its own. Whether a statement in flight was committed is unknown then. A
// cancelled context is not it.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if code := Code(err); code != "" {
		return unavailableCode(code)
	}
	var connect *pgconn.ConnectError
	var network *net.OpError
	switch {
	case errors.As(err, &connect), errors.As(err, &network):
		return true
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	case errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, puddle.ErrClosedPool):
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// unavailableCode knows the states of a server that is not there for us: connection exceptions, shutdown,
// crash of another backend, starting up, the database dropped, no resources (disk full, out of memory, too many
// connections), an error of a disk, read-only after a failover, and time limits that were set at the server:
// of statements, locks and idle transactions.
func unavailableCode(code string) bool {
	switch code {
	case "57P01", "57P02", codeStartingUp, "57P04", "57P05", CodeQueryCanceled, CodeLockNotAvailable, CodeReadOnly, "25P03", "58030":
		return true
	}
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53")
}
