-- Gives jobs other places, and names those that are ready: they have moved in a window.
WITH placed AS (
    UPDATE jobs j SET place = n.place
    FROM unnest(@ids::bigint[], @befores::bigint[], @places::bigint[]) AS n (id, before, place)
    WHERE j.id = n.id AND j.place = n.before
    RETURNING j.id, j.task_id, j.share_id, j.shape_id, j.state, j.place, n.before
)
SELECT task_id, share_id, shape_id, place, before, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM placed p
WHERE p.state = 'ready' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = p.id)
GROUP BY task_id, share_id, shape_id, place, before;
