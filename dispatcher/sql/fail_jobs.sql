-- Ends locked jobs that nobody runs as failed, whatever attempts they have left.
WITH gone AS (
    DELETE FROM jobs j WHERE j.id = ANY (@ids::bigint[]) RETURNING j.*
), dropped AS (
    DELETE FROM retries r WHERE r.job_id = ANY (@ids::bigint[])
), locked_claims AS (
    SELECT id FROM resource_claims
    WHERE id = ANY (ARRAY(SELECT DISTINCT unnest(g.claims) FROM gone g WHERE g.claims IS NOT NULL)) AND state <> 'released'
    ORDER BY id FOR UPDATE
), looked_at AS (
    -- No job may be left that wants them.
    UPDATE resource_claims c SET unplaced = true, placed_to = 0 FROM locked_claims l WHERE c.id = l.id
)
INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
    first_event, n_events, retry_of, created_at, scaled_away)
-- The attempt that it would have been never was.
SELECT id, task_id, share_id, shape_id, priority, 'failed', attempt - 1, max_attempts, idx, inputs,
    first_event, n_events, retry_of, created_at, scaled_away
FROM gone;
