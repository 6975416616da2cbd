package upkeep

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// site is a database with the tables of the log and the fold, and those that others make.
type site struct {
	Config
	t *testing.T

	folded   time.Time
	rolls    int
	jobsOver time.Time // what Jobs was told
}

func newSite(t *testing.T, keep Keep) *site {
	t.Helper()
	s := &site{t: t, folded: time.Now()}
	db := pgtest.Open(t)
	s.Config = Config{DB: db, Log: ledger.New(db), Keep: keep,
		Ahead: func(context.Context) (int, error) { return 0, nil },
		Jobs: func(_ context.Context, before time.Time) (int, error) {
			s.jobsOver = before
			return 0, nil
		},
		History: func(_ context.Context, before time.Time) (n int, err error) {
			for scan[int](s, "SELECT divvy_drop_day('history', $1)", before) > 0 {
				n++
			}
			return n, nil
		},
		Folded: func(context.Context) (int64, time.Time, error) {
			return scan[int64](s, "SELECT seq FROM folded"), s.folded, nil
		},
		Roll: func(context.Context) error {
			s.rolls++
			return nil
		}}
	for _, table := range DayTables(keep) { // some are made with their table
		for scan[int](s, "SELECT divvy_drop_day($1, 'infinity')", table.Name) > 0 {
		}
	}
	return s
}

func (s *site) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.DB.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(sql, err)
	}
}

func scan[T any](s *site, sql string, args ...any) (v T) {
	s.t.Helper()
	if err := s.DB.QueryRow(s.t.Context(), sql, args...).Scan(&v); err != nil {
		s.t.Fatal(sql, err)
	}
	return v
}

// run runs a step by its name.
func (s *site) run(name string) int {
	s.t.Helper()
	n, err := s.try(name)
	if err != nil {
		s.t.Fatal(name, err)
	}
	return n
}

func (s *site) try(name string) (int, error) {
	s.t.Helper()
	steps, err := Steps(s.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, step := range steps {
		if step.Name == name {
			return step.Run(s.t.Context())
		}
	}
	s.t.Fatalf("no step %q", name)
	return 0, nil
}

// days are how many days of a table there are.
func (s *site) days(table string) int {
	s.t.Helper()
	return scan[int](s, "SELECT count(*)::int FROM pg_inherits WHERE inhparent = $1::regclass", table)
}
