package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divvyhq/divvy/internal/pg"
)

// recounts are sums that must agree in every snapshot; each statement lists those that do not. All tables are as of one batch of the log.
var recounts = map[string]string{
	"held": `SELECT format('share %s shape %s queue %s: %s jobs, %s units too many', share, shape, queue, sum(held), sum(units))
		FROM (
			SELECT share, shape, queue, held, held_units AS units FROM share_counts
			UNION ALL SELECT share, shape, queue, -1, -units FROM leases_now
		) x GROUP BY share, shape, queue HAVING sum(held) <> 0 OR sum(units) <> 0`,
	"ready": `SELECT format('share %s shape %s: %s ready too many', share, shape, sum(ready))
		FROM (
			SELECT share, shape, ready FROM share_counts
			UNION ALL SELECT share, shape, low - high - 1 FROM idle_ranges WHERE state = 'r'
		) x GROUP BY share, shape HAVING sum(ready) <> 0`,
	"tasks": `SELECT format('task %s: %s in state %s too many', task, sum(n), letter)
		FROM (
			SELECT c.task, s.letter, s.n FROM task_counts c CROSS JOIN LATERAL (VALUES ('r', c.ready), ('p', c.paused), ('w', c.waiting),
				('l', c.held), ('f', c.finished), ('x', c.failed), ('c', c.cancelled)) AS s (letter, n)
			UNION ALL SELECT task, state::text, low - high - 1 FROM idle_ranges
			UNION ALL SELECT task, state::text, low - high - 1 FROM over_ranges
			UNION ALL SELECT task, 'l', -1 FROM held
			UNION ALL SELECT task, state::text, -1 FROM history WHERE state IN ('f', 'x', 'c')
		) x GROUP BY task, letter HAVING sum(n) <> 0`,
	"jobs": `WITH stand AS (
			SELECT job AS low, job AS high, 'leased' AS how FROM held
			UNION ALL SELECT low, high, 'idle' FROM idle_ranges
			UNION ALL SELECT low, high, 'over' FROM over_ranges
			UNION ALL SELECT job, job, 'ended' FROM history WHERE state IN ('f', 'x', 'c')
		), next AS (
			SELECT low, high, how, lead(low) OVER w AS other, lead(how) OVER w AS too FROM stand WINDOW w AS (ORDER BY low, high)
		)
		SELECT format('job %s is %s and %s', other, how, too) FROM next WHERE other <= high`,
	"leases": `SELECT format('job %s: lease of attempt %s after %s', h.job, h.attempt, p.n) FROM held h
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM history y WHERE y.job = h.job) p WHERE h.attempt <> p.n + 1`,
	"limits": fmt.Sprintf(`SELECT format('share Test holds %%s of %d', sum(units)) FROM report.leases WHERE share = 'Test' HAVING sum(units) > %[1]d
		UNION ALL SELECT format('queue SMALL holds %%s of %d', sum(cores)) FROM report.leases WHERE queue = 'SMALL' HAVING sum(cores) > %[2]d`,
		testMax, smallSlots),
}

// auditor recounts again and again, whenever the database answers.
type auditor struct {
	dsn  string
	more map[string]string // recounts beside those of every play

	audits int

	mu       sync.Mutex
	findings []string
}

// run audits until ctx ends.
func (a *auditor) run(ctx context.Context) {
	for {
		var connect *pgconn.ConnectError // also with codes that elsewhere are faults: a full disk has no place for what a backend begins with
		if err := a.once(ctx); err != nil && ctx.Err() == nil && !pg.IsUnavailable(err) && !errors.As(err, &connect) {
			a.find(err.Error())
		}
		if !pause(ctx, 200*time.Millisecond) {
			return
		}
	}
}

func (a *auditor) find(what ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.findings) < 20 {
		a.findings = append(a.findings, what...)
	}
}

// once makes all recounts in one snapshot.
func (a *auditor) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, a.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	var found []string
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, conn, opts, func(tx pgx.Tx) error {
		all := maps.Clone(recounts)
		maps.Copy(all, a.more)
		for name, sql := range all {
			rows, err := tx.Query(ctx, sql)
			if err != nil {
				return errors.Join(errors.New(name), err)
			}
			wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return errors.Join(errors.New(name), err)
			}
			for _, w := range wrong {
				found = append(found, fmt.Sprintf("%s: %s", name, w))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.find(found...)
	a.audits++
	return nil
}
