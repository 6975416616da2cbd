package pg

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Args are pgx.StrictNamedArgs for statements that run often: where the names are in a text is found out once.
// The texts are kept for ever, so they must not be put together at run time.
type Args map[string]any

// numbered is a text whose named arguments have become $1, $2, …
type numbered struct {
	sql   string
	names []string
}

var (
	numberedMu sync.RWMutex
	known      = map[string]numbered{}
)

// RewriteQuery is pgx.QueryRewriter.
func (a Args) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, rest []any) (string, []any, error) {
	numberedMu.RLock()
	n, ok := known[sql]
	numberedMu.RUnlock()
	if !ok {
		var err error
		if n, err = a.number(ctx, conn, sql); err != nil {
			return "", nil, err
		}
	}
	if len(a) != len(n.names) {
		return "", nil, fmt.Errorf("%d arguments for a statement that has %d", len(a), len(n.names))
	}
	values := make([]any, len(n.names))
	for i, name := range n.names {
		if values[i], ok = a[name]; !ok {
			return "", nil, fmt.Errorf("no argument %s", name)
		}
	}
	return n.sql, values, nil
}

// number has pgx rewrite the text with each argument's name as its value: what comes back is their order.
func (a Args) number(ctx context.Context, conn *pgx.Conn, sql string) (n numbered, err error) {
	names := make(pgx.StrictNamedArgs, len(a))
	for name := range a {
		names[name] = name
	}
	var order []any
	if n.sql, order, err = names.RewriteQuery(ctx, conn, sql, nil); err != nil {
		return numbered{}, err
	}
	for _, name := range order {
		n.names = append(n.names, name.(string))
	}
	numberedMu.Lock()
	defer numberedMu.Unlock()
	known[sql] = n
	return n, nil
}
