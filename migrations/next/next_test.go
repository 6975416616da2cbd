package next_test

import (
	"errors"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations/next"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Each file takes back all that it made.
func TestUpDownUp(t *testing.T) {
	db, err := pg.Open(t.Context(), pgtest.Empty(t), pg.MaxConns(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := next.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	err = next.With(db, func(p *goose.Provider) error {
		for {
			if _, err := p.Down(t.Context()); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, goose.ErrNoNextVersion) {
		t.Fatal(err)
	}
	var left []string
	if err := db.QueryRow(t.Context(), `SELECT coalesce(array_agg(name ORDER BY name), '{}') FROM (
			SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace::regnamespace::text IN ('public', 'report') AND c.relkind IN ('r', 'p', 'v', 'S')
			UNION ALL SELECT p.oid::regproc::text FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('public', 'report')
		) AS left_over (name) WHERE name !~ '^migrations'`).Scan(&left); err != nil || len(left) > 0 {
		t.Fatalf("left after all Downs: %q, %v", left, err)
	}
	if err := next.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}
