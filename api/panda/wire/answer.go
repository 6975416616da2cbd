package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/divvyhq/divvy/internal/access"
)

// DatabaseError is what callers know for what went wrong here.
const DatabaseError = "database error in the PanDA server"

// Forbidden is an error of a caller that may not.
type Forbidden struct{ error }

// Forbid makes an error one of a caller that may not.
func Forbid(why error) error { return Forbidden{why} }

// CallerOf returns who made a request.
func CallerOf(ctx context.Context) *access.Caller {
	if c := access.CallerIn(ctx); c != nil {
		return c
	}
	return access.Anybody // a handler without the guard, in tests
}

// Below is how the packages below are called: each time bounded, and with a log of what went wrong.
type Below struct {
	Timeout time.Duration
	Log     *slog.Logger
}

// Answer runs a call of the packages below in time. What went wrong is logged, and the caller told that it did.
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
