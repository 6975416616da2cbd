-- Ends locked jobs that have no lease. The lease is looked for again: a grant may have won before the lock.
WITH gone AS (
    DELETE FROM jobs j WHERE j.id = ANY (@ids::bigint[]) AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    RETURNING j.*
), locked_claims AS (
    SELECT id FROM resource_claims
    WHERE id = ANY (ARRAY(SELECT DISTINCT unnest(g.claims) FROM gone g WHERE g.claims IS NOT NULL)) AND state <> 'released'
    ORDER BY id FOR UPDATE
), looked_at AS (
    -- No job may be left that wants them.
    UPDATE resource_claims c SET unplaced = true, placed_to = 0 FROM locked_claims l WHERE c.id = l.id
), ended AS (
    INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at, scaled_away)
    SELECT id, task_id, share_id, shape_id, priority, 'cancelled', attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at, scaled_away
    FROM gone
)
SELECT task_id, share_id, shape_id, state, place, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM gone GROUP BY task_id, share_id, shape_id, state, place;
