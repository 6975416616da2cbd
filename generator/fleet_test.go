package generator

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// fleet stands for the dispatcher's pilots: it leases jobs and ends attempts in plain SQL, one ledger row each time,
// as dispatcher's grant and finish do, but where and when a test says so.
type fleet struct {
	db   *world
	lane int32
	seq  int64
}

// move is one job's way from state to state; its lane's row is written with it.
func (f *fleet) record(t tb, tx pgx.Tx, moves []fleetMove) {
	t.Helper()
	var tasks []int64
	var befores, afters []string
	var ns []int32
	for _, m := range moves {
		tasks, befores, afters, ns = append(tasks, m.TaskID), append(befores, m.Before), append(afters, m.After), append(ns, 1)
	}
	if len(tasks) == 0 {
		return
	}
	f.seq++
	_, err := tx.Exec(context.Background(), `INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids,
			befores, afters, ns, units, places, low_ids, high_ids)
		VALUES (99, $1, $2, $3, '{}', '{}', '{}', $4, $5, $6, '{}', '{}', '{}', '{}')`, f.lane, f.seq, tasks, befores, afters, ns)
	if err != nil {
		t.Fatal(err)
	}
}

type fleetMove struct {
	TaskID int64
	Before string
	After  string
}

func (f *fleet) do(t tb, sql string, n int) int {
	t.Helper()
	moved := 0
	err := pg.InTx(context.Background(), f.db.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(context.Background(), sql, n)
		if err != nil {
			return err
		}
		moves, err := pgx.CollectRows(rows, pgx.RowToStructByName[fleetMove])
		if err != nil {
			return err
		}
		moved = len(moves)
		f.record(t, tx, moves)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

// lease starts up to n ready jobs, by priority.
func (f *fleet) lease(t tb, n int) int {
	t.Helper()
	return f.do(t, `WITH picked AS (
			SELECT * FROM jobs j WHERE state = 'ready' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
			ORDER BY place, id LIMIT $1 FOR UPDATE
		), leased AS (
			INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
				daemon_id, expires_at, ttl_s)
			SELECT id, attempt, 1, task_id, share_id, shape_id, 1, 1000, 1, priority, 'p', 'n', 99, now() + '1 h', 3600 FROM picked
		)
		SELECT task_id, 'r' AS before, 'l' AS after FROM picked`, n)
}

// splitSmaller is an outcome: failed, and the rule that matches says split_smaller.
const splitSmaller = "split"

// end gives up to n running jobs an outcome. One that failed with attempts left, and whose task wants it still, is
// ready again, or waits to be split; a cancel order wins over that.
func (f *fleet) end(t tb, outcome string, n int) int {
	t.Helper()
	return f.do(t, `WITH gone AS (
			DELETE FROM leases WHERE job_id IN (SELECT job_id FROM leases ORDER BY md5(job_id::text) LIMIT $1)
			RETURNING job_id, task_id, cancel_reason IS NOT NULL AS ordered
		), judged AS (
			SELECT j.*, CASE WHEN '`+outcome+`' = 'finished' THEN 'finished' WHEN g.ordered THEN 'cancelled'
				WHEN j.attempt < j.max_attempts THEN CASE WHEN j.scaled_away THEN 'cancelled'
					WHEN '`+outcome+`' = 'split' THEN 'waiting' ELSE 'ready' END ELSE 'failed' END AS verdict
			FROM jobs j JOIN gone g ON g.job_id = j.id
		), again AS (
			UPDATE jobs j SET attempt = j.attempt + 1, state = g.verdict FROM judged g WHERE g.id = j.id AND g.verdict IN ('ready', 'waiting')
		), to_split AS (
			INSERT INTO retries (job_id, attempt, judged, split) SELECT id, attempt, true, true FROM judged WHERE verdict = 'waiting'
		), over AS (
			DELETE FROM jobs WHERE id IN (SELECT id FROM judged WHERE verdict NOT IN ('ready', 'waiting'))
		), ended AS (
			INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
				first_event, n_events, retry_of, created_at, scaled_away)
			SELECT id, task_id, share_id, shape_id, priority, verdict, attempt, max_attempts, idx, inputs, first_event, n_events,
				retry_of, created_at, scaled_away
			FROM judged WHERE verdict NOT IN ('ready', 'waiting')
		)
		SELECT task_id, 'l' AS before, CASE verdict WHEN 'ready' THEN 'r' WHEN 'waiting' THEN 'w' WHEN 'finished' THEN 'f' WHEN 'failed' THEN 'x' ELSE 'c' END AS after
		FROM judged`, n)
}

// kill ends up to n jobs as dispatcher.KillJobs does: those that run as soon as their attempts end.
func (f *fleet) kill(t tb, n int) {
	t.Helper()
	f.db.exec(t, "UPDATE leases SET cancel_reason = 'killed' WHERE job_id IN (SELECT id FROM jobs ORDER BY md5(id::text) LIMIT $1)", n)
	f.do(t, `WITH gone AS (
			DELETE FROM jobs WHERE id IN (SELECT id FROM jobs ORDER BY md5(id::text) LIMIT $1)
				AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = jobs.id)
			RETURNING *
		), ended AS (
			INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
				first_event, n_events, retry_of, created_at, scaled_away)
			SELECT id, task_id, share_id, shape_id, priority, 'cancelled', attempt, max_attempts, idx, inputs, first_event, n_events,
				retry_of, created_at, scaled_away
			FROM gone
		)
		SELECT task_id, left(state, 1) AS before, 'c' AS after FROM gone`, n)
}

// recount compares the counts of all tasks with the jobs that there are. The ledger must be settled.
func (w *world) recount(t tb) {
	t.Helper()
	rows, err := w.db.Query(context.Background(), `
		SELECT t.id, t.state, t.n_generated, t.n_jobs, t.n_pieces, t.ended_at IS NOT NULL AS ended,
			t.n_waiting = count(j.id) FILTER (WHERE j.state = 'waiting' AND l.job_id IS NULL)
				AND t.n_ready = count(j.id) FILTER (WHERE j.state = 'ready' AND l.job_id IS NULL)
				AND t.n_leased = count(l.job_id) AND t.n_finished = e.finished AND t.n_failed = e.failed
				AND t.n_cancelled = e.cancelled AS counted,
			count(j.id) + e.finished + e.failed + e.cancelled AS jobs, e.pieces_finished, e.finished, e.gone
		FROM tasks t
		LEFT JOIN jobs j ON j.task_id = t.id
		LEFT JOIN leases l ON l.job_id = j.id
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE state = 'finished') AS finished, count(*) FILTER (WHERE state = 'failed') AS failed,
				count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
				count(DISTINCT idx) FILTER (WHERE state = 'finished') AS pieces_finished,
				count(*) FILTER (WHERE scaled_away AND state <> 'finished') AS gone
			FROM ended_jobs WHERE task_id = t.id
		) e
		GROUP BY t.id, e.finished, e.failed, e.cancelled, e.pieces_finished, e.gone`)
	if err != nil {
		t.Fatal(err)
	}
	type tally struct {
		ID, NGenerated, NJobs, NPieces, Jobs, PiecesFinished, Finished, Gone int64
		State                                                                string
		Ended, Counted                                                       bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[tally])
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		switch {
		case !a.Counted:
			t.Fatalf("counts differ from the jobs: %+v", a)
		case a.Jobs != a.NGenerated:
			t.Fatalf("%d jobs of a task that generated %d: %+v", a.Jobs, a.NGenerated, a)
		case a.PiecesFinished != a.Finished:
			t.Fatalf("a piece finished twice: %+v", a)
		case (a.State == "done") != (a.Ended && a.State != "aborted" && a.Finished+a.Gone == a.NPieces):
			t.Fatalf("done means every piece finished that is wanted: %+v", a)
		}
	}
}
