package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// recounts are sums that must agree in every snapshot; each statement lists those that do not.
var recounts = map[string]string{
	"held": `SELECT format('share %s shape %s queue %s: %s jobs, %s units too many', share_id, shape_id, queue_id, sum(held), sum(units))
		FROM (
			SELECT share_id, shape_id, queue_id, held, held_units AS units FROM counters
			UNION ALL SELECT share_id, shape_id, queue_id, (after = 'l')::int * n - (before = 'l')::int * n,
				((after = 'l')::int - (before = 'l')::int) * units FROM ledger_tail_moves WHERE 'l' IN (before, after)
			UNION ALL SELECT share_id, shape_id, queue_id, -1, -units FROM leases
			UNION ALL SELECT share_id, charge_id, queue_id, -1, 0 FROM resource_claims WHERE charge_id <> 0 AND share_id <> 0
		) x GROUP BY share_id, shape_id, queue_id HAVING sum(held) <> 0 OR sum(units) <> 0`,
	"ready": `SELECT format('share %s shape %s: %s ready, %s waiting too many', share_id, shape_id, sum(ready), sum(waiting))
		FROM (
			SELECT share_id, shape_id, ready, waiting FROM counters
			UNION ALL SELECT share_id, shape_id, (after = 'r')::int * n - (before = 'r')::int * n,
				(after = 'w')::int * n - (before = 'w')::int * n FROM ledger_tail_moves
			UNION ALL SELECT share_id, shape_id, -(state = 'ready')::int, -(state = 'waiting')::int FROM jobs j
				WHERE NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
		) x GROUP BY share_id, shape_id HAVING sum(ready) <> 0 OR sum(waiting) <> 0`,
	"tasks": `WITH moves AS (
			SELECT m.*
			FROM ledger_lanes a
			LEFT JOIN task_lanes c USING (daemon_id, lane)
			JOIN ledger l ON l.daemon_id = a.daemon_id AND l.lane = a.lane AND l.seq > coalesce(c.seq, 0)
			CROSS JOIN LATERAL (
				SELECT u.task_id, coalesce(u.before, l.befores[1]) AS before, coalesce(u.after, l.afters[1]) AS after, coalesce(u.n, l.ns[1]) AS n
				FROM unnest(l.task_ids, l.befores, l.afters, l.ns) AS u (task_id, before, after, n)
			) AS m
		), states (letter) AS (
			VALUES ('w'), ('r'), ('l'), ('f'), ('x'), ('c')
		), sums AS (
			SELECT id AS task_id, letter, CASE letter WHEN 'w' THEN n_waiting WHEN 'r' THEN n_ready WHEN 'l' THEN n_leased
				WHEN 'f' THEN n_finished WHEN 'x' THEN n_failed ELSE n_cancelled END AS n FROM tasks, states
			UNION ALL SELECT task_id, after, n FROM moves
			UNION ALL SELECT task_id, before, -n FROM moves
			UNION ALL SELECT j.task_id, CASE WHEN l.job_id IS NOT NULL THEN 'l' ELSE left(j.state, 1) END, -1
				FROM jobs j LEFT JOIN leases l ON l.job_id = j.id
			UNION ALL SELECT task_id, CASE state WHEN 'finished' THEN 'f' WHEN 'failed' THEN 'x' ELSE 'c' END, -1 FROM ended_jobs
		)
		SELECT format('task %s: %s in state %s too many', task_id, sum(n), letter)
		FROM sums WHERE letter IN (SELECT letter FROM states) AND task_id <> 0 -- 0: of a claim
		GROUP BY task_id, letter HAVING sum(n) <> 0`,
	"leases": `SELECT format('job %s: lease of attempt %s, the job is at %s', l.job_id, l.attempt, j.attempt)
		FROM leases l LEFT JOIN jobs j ON j.id = l.job_id WHERE j.attempt IS DISTINCT FROM l.attempt
		UNION ALL SELECT format('job %s is live and ended', id) FROM jobs JOIN ended_jobs USING (id)
		UNION ALL SELECT format('job %s ended %s times', id, count(*)) FROM ended_jobs GROUP BY id HAVING count(*) > 1`,
	"limits": fmt.Sprintf(`SELECT format('share Test holds %%s of %d', sum(units) / 1000.0) FROM leases l JOIN shares s ON s.id = l.share_id
			WHERE s.path = 'Test' HAVING sum(units) > %[1]d * 1000
		UNION ALL SELECT format('queue SMALL holds %%s of %d', sum(l.cores)) FROM leases l JOIN queues q ON q.id = l.queue_id
			WHERE q.name = 'SMALL' HAVING sum(l.cores) > %[2]d`, testMax, smallSlots),
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
		if err := a.once(ctx); err != nil && ctx.Err() == nil && !pg.IsUnavailable(err) {
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
