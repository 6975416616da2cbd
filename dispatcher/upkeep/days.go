package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// DayTable is a table that has a partition a day, TABLE_YYYYMMDD.
type DayTable struct {
	Name  string
	Ahead int           // how many days after today have one
	Keep  time.Duration // for which one is kept after it has ended; 0: for ever

	folded bool // Config.History drops its days
}

const ahead = 3

// DayTables lists them.
func DayTables(k Keep) []DayTable {
	return []DayTable{{"history", ahead, k.History, true}, {"attempt_texts", ahead, k.History, true}, {"payload_logs", ahead, k.History, false}, {"share_samples", ahead, k.Samples, false}}
}

// daysAhead makes the partitions of today and the next days.
type daysAhead struct {
	db     *pgxpool.Pool
	tables []DayTable
}

func (s daysAhead) run(ctx context.Context) (n int, err error) {
	for _, t := range s.tables {
		for day := range t.Ahead + 1 {
			made, err := s.make(ctx, t.Name, day)
			n += made
			if err != nil {
				return n, fmt.Errorf("days of %s: %w", t.Name, err)
			}
		}
	}
	return n, nil
}

// make makes a day; none where somebody has the table in a way that forbids it: there are others left.
func (s daysAhead) make(ctx context.Context, parent string, day int) (n int, err error) {
	err = s.db.QueryRow(ctx, query["make_day"], pg.Args{"parent": parent, "ahead": day}).Scan(&n)
	if pg.Code(err) == pg.CodeLockNotAvailable {
		return 0, nil
	}
	return n, err
}

// oldDays drops days that ended long ago.
type oldDays struct {
	db     *pgxpool.Pool
	tables []DayTable
}

func (s oldDays) run(ctx context.Context) (n int, err error) {
	for _, t := range s.tables {
		if t.Keep == 0 || t.folded {
			continue
		}
		for dropped := 1; dropped > 0; n += dropped {
			err := s.db.QueryRow(ctx, query["drop_day"], pg.Args{"parent": t.Name, "keep_s": t.Keep.Seconds()}).Scan(&dropped)
			if pg.Code(err) == pg.CodeLockNotAvailable {
				break
			}
			if err != nil {
				return n, fmt.Errorf("old days of %s: %w", t.Name, err)
			}
		}
	}
	return n, nil
}
