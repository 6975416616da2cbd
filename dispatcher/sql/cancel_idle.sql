-- Ends locked jobs that have no lease. The lease is looked for again: a grant may have won before the lock.
WITH gone AS (
    DELETE FROM jobs j WHERE j.id = ANY (@ids::bigint[]) AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    RETURNING j.*
), ended AS (
    INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at)
    SELECT id, task_id, share_id, shape_id, priority, 'cancelled', attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at
    FROM gone
)
SELECT task_id, share_id, shape_id, state, place, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM gone GROUP BY task_id, share_id, shape_id, state, place;
