package tools

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/offline"
	"github.com/divvyhq/divvy/internal/pg"
)

// whichRecords is the way out of a replay that was pointed at the wrong place.
const whichRecords = "--database, --state-dir and --config are those of the daemon whose decisions are replayed."

// WithRecords runs do on connections to the database of a daemon on which the server refuses to write.
func WithRecords(ctx context.Context, c *cli.CLI, cfg config.Config, do func(context.Context, *pgxpool.Pool) error) error {
	err := offline.Reach(ctx, c, cfg, do, pg.Name("divvy replay"), pg.ReadOnly())
	switch pg.Code(err) {
	case pg.CodeUndefinedTable, pg.CodeUndefinedColumn:
		return fail.Hintf(fmt.Errorf("the database lacks tables of this version of divvy: %w", err),
			"%s A daemon that starts on it makes them, or divvy migrate up.", whichRecords)
	}
	return err
}
