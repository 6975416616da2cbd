package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	oldAfter = 15 * time.Second // a snapshot that is open for longer will keep a vacuum from removing what dies
	fewDead  = 50_000           // dead rows that a vacuum reads in no time, whatever comes of it
)

// vacuumed is a table as autovacuum sees it.
type vacuumed struct {
	Name       string
	Live, Dead int64
	Vacuums    int64
	HeldOff    int64  // dead rows that autovacuum is told to wait for; 0 = as configured
	Oldest     string // transaction id of the oldest snapshot, of the whole database; empty: none
}

// vacuums remembers between two steps what tells a vacuum in vain from one that is due. Only one step at a time uses it.
type vacuums struct {
	oldest string
	since  time.Time        // when it was first seen
	done   map[string]int64 // vacuums of a table when it was told to wait
}

// holdOff is a table that shall wait for so many dead and inserted rows; of 0, that shall not wait any more.
type holdOff struct {
	table          string
	dead, inserted int64
}

// next says what to change. While the oldest snapshot stays, a table waits for twice the dead rows that it has, and for as many
// inserted ones as it has rows, and after a vacuum, which had to leave them all, for twice as many again: all vacuums together
// read no more than twice what the last one does. A snapshot that is gone lets every table go.
func (v *vacuums) next(tables []vacuumed, now time.Time) (list []holdOff) {
	for _, t := range tables[:min(1, len(tables))] {
		if t.Oldest != v.oldest || v.since.IsZero() {
			v.oldest, v.since, v.done = t.Oldest, now, map[string]int64{}
		}
	}
	for _, t := range tables {
		at, known := v.done[t.Name]
		switch stays := v.oldest != "" && now.Sub(v.since) >= oldAfter; {
		case !stays && t.HeldOff > 0:
			list = append(list, holdOff{table: t.Name})
		case stays && t.Dead >= fewDead && (!known || t.Vacuums > at) && t.HeldOff < 2*t.Dead:
			v.done[t.Name] = t.Vacuums
			list = append(list, holdOff{table: t.Name, dead: 2 * t.Dead, inserted: t.Live + t.Dead})
		}
	}
	return list
}

// SpareVacuum keeps autovacuum from reading the same dead rows again and again while a snapshot held open elsewhere keeps
// them from being removed, and returns how many tables it told so or told that they are free again. What it tells is a
// setting of the table, so it lasts when the daemon goes; the next one to look takes it back.
func (d *Dispatcher) SpareVacuum(ctx context.Context) (n int, err error) {
	tables, err := collect[vacuumed](ctx, d.cfg.Pool, "vacuums", nil)
	if err != nil {
		return 0, fmt.Errorf("spare vacuum: %w", err)
	}
	for _, h := range d.vacuums.next(tables, time.Now()) {
		args := pgx.StrictNamedArgs{"name": h.table, "dead": orNull(h.dead), "inserted": orNull(h.inserted)}
		var told bool
		if err := d.cfg.Pool.QueryRow(ctx, query["hold_vacuum"], args).Scan(&told); err != nil {
			return n, fmt.Errorf("spare vacuum: %w", err)
		}
		if told {
			n++
			continue
		}
		delete(d.vacuums.done, h.table) // somebody is at it: next time
	}
	return n, nil
}

func orNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
