-- Gives locked jobs that have no lease another shape, and says where they were. The lease is looked for again: a grant may
-- have won before the lock.
WITH old AS MATERIALIZED (
    SELECT j.id, j.shape_id, n.shape_id AS to_id
    FROM unnest(@ids::bigint[], @shapes::int[]) AS n (id, shape_id)
    JOIN jobs j ON j.id = n.id
    WHERE j.shape_id <> n.shape_id AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
), moved AS (
    UPDATE jobs j SET shape_id = o.to_id FROM old o WHERE j.id = o.id
    RETURNING j.id, j.task_id, j.share_id, j.state, j.place, o.shape_id AS from_id, o.to_id
)
SELECT task_id, share_id, from_id, to_id, state, place, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM moved GROUP BY task_id, share_id, from_id, to_id, state, place;
