package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// checkHome refuses a database that the first migration must not be applied to, while nothing is in it yet: one that does not
// keep text as UTF-8, and one whose new tables go elsewhere than to public, which functions and reports name.
func checkHome(ctx context.Context, db *pgxpool.Pool) error {
	var name, encoding, schema string
	err := db.QueryRow(ctx, `SELECT datname, pg_encoding_to_char(encoding), coalesce(current_schema(), '') FROM pg_database
		WHERE datname = current_database()`).Scan(&name, &encoding, &schema)
	if err != nil {
		return err
	}
	if schema != "public" {
		return fmt.Errorf("database %s: new tables go to the schema %q by search_path of the DSN, the role or the database; divvy's are in public: "+
			"say search_path=public in the DSN, or ALTER ROLE … SET search_path = public", name, schema)
	}
	if encoding == "UTF8" {
		return nil
	}
	if ever, err := migrated(ctx, db); err != nil || ever {
		return err
	}
	return fmt.Errorf("database %s has the encoding %s; divvy needs UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", name, encoding)
}
