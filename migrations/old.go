package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// OldError says that a release up to 0.10 made the database. Its files had numbers of their own, and there is no way from them to
// those of today but by a new database.
type OldError struct {
	Database string
	Schema   int64 // the newest of its migrations
}

func (e OldError) Error() string {
	return fmt.Sprintf("database %s was made by divvy 0.10 or before (its schema is at %d) and cannot be brought up to this release. "+
		"Let the old release run until its jobs are over, and stop its daemons. Then take site versions, tokens and the history of usage along, with this release: "+
		"'divvy migrate export FILE' from the old database, 'divvy migrate import FILE' into a new, empty one (docs/howto/upgrade.md)", e.Database, e.Schema)
}

// Old returns the newest migration of a database that a release up to 0.10 made, and 0 for every other database. The sign is the table
// in which goose noted what those releases applied, beside a table of theirs, and without the one of today.
func Old(ctx context.Context, db *pgxpool.Pool) (schema int64, err error) {
	var old bool
	err = db.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL AND to_regclass('site_versions') IS NOT NULL AND to_regclass($2::text) IS NULL",
		goose.DefaultTablename, table).Scan(&old)
	if err != nil || !old {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&schema)
	return schema, err
}

func refuseOld(ctx context.Context, db *pgxpool.Pool) error {
	schema, err := Old(ctx, db)
	if err != nil || schema == 0 {
		return err
	}
	return OldError{Database: db.Config().ConnConfig.Database, Schema: schema}
}
