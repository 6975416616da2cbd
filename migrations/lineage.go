package migrations

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// What bounds the ids that were given between the last sign of life that a restored database has and its restore: more
// than divvy can make in a second (four times what generators make on two cores that do nothing else, S8 of
// docs/performance.md), for so long and a minute.
const (
	idsPerSecond = 1_000_000
	idSlack      = time.Minute
)

// numbered are the sequences of ids that somebody outside of the database holds: pilots of PanDA name jobs by theirs, which
// is the only fence that they know; scripts name tasks and claims; daemons are fenced by theirs.
var numbered = []string{"job_ids", "tasks_id_seq", "claim_keys_id_seq", "daemons_id_seq", "harvester_commands_id_seq"}

// GoOn is called by each daemon at its start, behind Up. When the database is not where it was at the last start (another
// server, another timeline of it, another database: it was restored, copied, or failed over), ids go on behind all that may
// have been given since the newest thing that it knows of, so that none stands for two things. skipped is how many are
// left out, 0 as a rule. With force it is told that it was set back, as by a snapshot of its disk, which does not show.
func GoOn(ctx context.Context, db *pgxpool.Pool, force bool) (skipped int64, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		skipped = 0
		if err := pg.Lock(ctx, tx, pg.LockMigrate, 1); err != nil { // one daemon after the other
			return err
		}
		var moved bool
		var silent float64
		err := tx.QueryRow(ctx, `WITH here AS (
				SELECT format('%s/%s/%s', c.system_identifier, divvy_timeline(), d.oid) AS place
				FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()
			), was AS (
				SELECT place, since FROM lineage
			), noted AS (
				INSERT INTO lineage (place) SELECT place FROM here
				ON CONFLICT (only_row) DO UPDATE SET place = EXCLUDED.place, since = now() WHERE lineage.place <> EXCLUDED.place OR $1::boolean
			)
			SELECT coalesce((SELECT was.place <> here.place FROM was), false) OR $1::boolean,
				coalesce(extract(epoch FROM now() - greatest((SELECT since FROM was), (SELECT max(seen_at) FROM daemons))), 0)::float8
			FROM here`, force).Scan(&moved, &silent)
		if err != nil || !moved {
			return err
		}
		if err := pg.Lock(ctx, tx, pg.LockIDs, 0); err != nil { // divvy_take_ids reads and sets its sequence behind it
			return err
		}
		skipped = int64(math.Ceil((max(0, silent) + idSlack.Seconds()) * idsPerSecond))
		_, err = tx.Exec(ctx, `SELECT setval(s.name::regclass, nextval(s.name::regclass) + $2::bigint) FROM unnest($1::text[]) AS s (name)`, numbered, skipped)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lineage of the database: %w", err)
	}
	return skipped, nil
}
