package upkeep

import (
	"context"
	"fmt"
	"time"

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
func (cfg Config) daysAhead(ctx context.Context) (n int, err error) {
	for _, t := range DayTables(cfg.Keep) {
		for day := range t.Ahead + 1 {
			made, err := pg.Partitions(ctx, cfg.DB, query["make_day"], pg.Args{"parent": t.Name, "ahead": day})
			if n += made; err != nil {
				return n, fmt.Errorf("days of %s: %w", t.Name, err)
			}
		}
	}
	return n, nil
}

// oldDays drops days that ended long ago.
func (cfg Config) oldDays(ctx context.Context) (n int, err error) {
	for _, t := range DayTables(cfg.Keep) {
		for dropped := 1; dropped > 0 && t.Keep > 0 && !t.folded; n += dropped {
			if dropped, err = pg.Partitions(ctx, cfg.DB, query["drop_day"], pg.Args{"parent": t.Name, "keep_s": t.Keep.Seconds()}); err != nil {
				return n, fmt.Errorf("old days of %s: %w", t.Name, err)
			}
		}
	}
	return n, nil
}
