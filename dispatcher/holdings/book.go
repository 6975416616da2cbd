package holdings

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Config is what a Book needs.
type Config struct {
	DB    *pgxpool.Pool
	View  func(ctx context.Context, look func(machine.View)) error // has a function look at the machine as it stands
	Queue func(id shares.QueueID) (q shares.Queue, ok bool)        // a queue of the site in force
	Jobs  *lookup.Reader
}

// Book answers questions about claims and resources. It is safe for concurrent use.
type Book struct{ cfg Config }

// New makes a Book.
func New(cfg Config) *Book { return &Book{cfg} }

// collect runs a statement of this package.
func collect[T any](ctx context.Context, b *Book, verb string, args pg.Args) ([]T, error) {
	return pg.Collect[T](ctx, b.cfg.DB, query[verb], args)
}
