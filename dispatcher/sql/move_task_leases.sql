-- Charges the leases of locked jobs to another share, and gives that their jobs, which come back to it if they fail. A trigger
-- notes up to when the old one was charged.
WITH old AS MATERIALIZED (
    SELECT job_id, share_id FROM leases WHERE job_id = ANY (@ids::bigint[]) AND share_id <> @to::int
), moved AS (
    UPDATE leases l SET share_id = @to::int FROM old o WHERE l.job_id = o.job_id
    RETURNING l.job_id, l.task_id, l.shape_id, l.queue_id, l.units, o.share_id AS from_id
), jobs_too AS (
    UPDATE jobs j SET share_id = @to::int FROM moved m WHERE j.id = m.job_id
)
SELECT task_id, from_id, shape_id, queue_id, 'leased' AS state, 0::bigint AS place, count(*)::int AS n,
    sum(units)::bigint AS units, 0::bigint AS low_id, 0::bigint AS high_id
FROM moved GROUP BY task_id, from_id, shape_id, queue_id;
