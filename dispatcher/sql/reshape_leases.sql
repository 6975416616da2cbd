-- Gives leases of locked jobs, and these jobs, another shape, and says how many had which. A lease that somebody renews at this
-- moment is left for another time.
WITH old AS MATERIALIZED (
    SELECT l.job_id, l.shape_id, n.shape_id AS to_id
    FROM unnest(@ids::bigint[], @shapes::int[]) AS n (id, shape_id)
    JOIN leases l ON l.job_id = n.id
    WHERE l.shape_id <> n.shape_id
    FOR UPDATE OF l SKIP LOCKED
), moved AS (
    UPDATE leases l SET shape_id = o.to_id FROM old o WHERE l.job_id = o.job_id
    RETURNING l.job_id, l.task_id, l.share_id, l.queue_id, l.units, o.shape_id AS from_id, o.to_id
), jobs_too AS (
    UPDATE jobs j SET shape_id = m.to_id FROM moved m WHERE j.id = m.job_id
)
SELECT task_id, share_id, from_id, to_id, queue_id, count(*)::int AS n, sum(units)::bigint AS units
FROM moved GROUP BY task_id, share_id, from_id, to_id, queue_id;
