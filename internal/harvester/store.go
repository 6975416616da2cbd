package harvester

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// Store keeps the reports of Harvesters. It is safe for concurrent use, on any number of daemons.
type Store struct{ db *pgxpool.Pool }

// NewStore returns a store on a migrated database.
func NewStore(db *pgxpool.Pool) *Store { return &Store{db: db} }

// Beat is a heartbeat of a Harvester.
type Beat struct {
	Harvester string
	Host      string
	User      string
	Metadata  map[string]any // what it reports of itself, laid over earlier metadata
}

// mostForgotten bounds how many rows one heartbeat deletes from each table.
const mostForgotten = 2000

// Heartbeat records that a Harvester lives, and deletes some old rows.
func (s *Store) Heartbeat(ctx context.Context, b Beat) error {
	if b.Metadata == nil {
		b.Metadata = map[string]any{}
	}
	if err := s.exec(ctx, "heartbeat", pgx.StrictNamedArgs{"id": b.Harvester, "host": b.Host, "user": b.User, "metadata": b.Metadata}); err != nil {
		return err
	}
	return s.exec(ctx, "forget", pgx.StrictNamedArgs{"harvester": b.Harvester, "n": mostForgotten})
}

// exec runs a statement that returns no rows.
func (s *Store) exec(ctx context.Context, verb string, args pgx.StrictNamedArgs) error {
	if _, err := s.db.Exec(ctx, query[verb], args); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}
