package access

import "context"

type callerKey struct{}

// With says in a context who the caller is.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerIn is the caller of a context; nil: the daemon itself.
func CallerIn(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// OnlyUser returns the user to whose tasks the caller of a context is restricted; "": no restriction.
func OnlyUser(ctx context.Context) string {
	if c := CallerIn(ctx); c != nil {
		return c.OnlyUser()
	}
	return ""
}
