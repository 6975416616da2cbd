-- Gives locked jobs that have no lease to another share. The lease is looked for again: a grant may have won before
-- the barrier stood.
WITH old AS MATERIALIZED (
    SELECT j.id, j.share_id FROM jobs j
    WHERE j.id = ANY (@ids::bigint[]) AND j.share_id <> @to::int AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
), moved AS (
    UPDATE jobs j SET share_id = @to::int FROM old o WHERE j.id = o.id
    RETURNING j.id, j.task_id, j.shape_id, j.state, j.place, o.share_id AS from_id
)
SELECT task_id, from_id, shape_id, 0 AS queue_id, state, place, count(*)::int AS n, 0::bigint AS units,
    min(id) AS low_id, max(id) AS high_id
FROM moved GROUP BY task_id, from_id, shape_id, state, place;
