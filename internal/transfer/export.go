package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// oldest is the newest migration of v0.9.0: databases of releases before are not read.
const oldest = 49

// Exported is what Export did.
type Exported struct {
	Records Summary
	Tasks   int64 // not over: they stay behind
	Leases  int64
}

// source is what is told of the database, beside its schema.
type source struct {
	Release string
	Tasks   int64
	Leases  int64
}

// Export writes a site, its tokens and its history of usage to w. See the package's comment for what and how.
func Export(ctx context.Context, db *pgxpool.Pool, w io.Writer) (done Exported, err error) {
	h := header{Kind: headerKind, Format: format, WrittenAt: time.Now().UTC().Truncate(time.Second)}
	if h.Schema, err = migrations.Old(ctx, db); err == nil && h.Schema == 0 {
		h.Schema, err = migrations.Version(ctx, db)
	} else {
		h.Old = true
	}
	switch {
	case err != nil:
		return done, fmt.Errorf("export: %w", err)
	case h.Schema == 0:
		return done, fmt.Errorf("export: database %s is empty", db.Config().ConnConfig.Database)
	case h.Old && h.Schema < oldest:
		return done, fmt.Errorf("export: the schema is at %d, that of a release before v0.9: bring it up with v0.10 first", h.Schema)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	done.Records = Summary{}
	err = pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		from := "source"
		if h.Old {
			from = "old_source"
		}
		s, err := pg.Row[source](ctx, tx, query[from])
		if err != nil {
			return err
		}
		h.Release, done.Tasks, done.Leases = s.Release, s.Tasks, s.Leases
		if err := line(out, h); err != nil {
			return err
		}
		for _, k := range kinds {
			if h.Old && h.Schema < k.since {
				continue
			}
			if h.Old && k.old != "" {
				k.out = k.old
			}
			if done.Records[k.name], err = k.export(ctx, tx, out); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
		return line(out, end{Kind: endKind, Records: done.Records.Records()})
	})
	if err == nil {
		err = out.Flush()
	}
	return done, pg.Named("export", err)
}

// export writes the records of a kind, and returns how many they are.
func (k kind) export(ctx context.Context, tx pgx.Tx, w *bufio.Writer) (n int, err error) {
	args := pgx.StrictNamedArgs{}
	if k.name == sequences.name {
		args["names"] = numbered
	}
	rows, _ := tx.Query(ctx, query[k.out], args)
	var record string
	_, err = pgx.ForEachRow(rows, []any{&record}, func() error {
		n++
		_, err := w.WriteString(record + "\n")
		return err
	})
	return n, err
}

func line(w *bufio.Writer, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}
