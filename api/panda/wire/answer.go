package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/divvyhq/divvy/internal/access"
)

// DatabaseError is the text that callers know for a failure of the server.
const DatabaseError = "database error in the PanDA server"

// Forbidden is an error of a caller that may not.
type Forbidden struct{ error }

// Forbid makes an error one of a caller that may not.
func Forbid(why error) error { return Forbidden{why} }

// CallerOf returns the caller of a request.
func CallerOf(ctx context.Context) *access.Caller {
	if c := access.CallerIn(ctx); c != nil {
		return c
	}
	return access.Anybody // a handler without the guard, in tests
}

// Below says how the packages below are called: with a time limit, and with a log for failures.
type Below struct {
	Timeout time.Duration
	Log     *slog.Logger
}

// Answer runs a call of the packages below with a time limit. It logs a failure and tells the caller of it.
func Answer[T any](b Below, r *http.Request, what string, do func(context.Context) (T, error)) Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), b.Timeout)
	defer cancel()
	data, err := do(ctx)
	if errors.As(err, new(Forbidden)) {
		return Bad("%s", err)
	}
	if err != nil {
		b.Log.Warn(what, "error", err)
		return Bad(DatabaseError)
	}
	return Good(data)
}
