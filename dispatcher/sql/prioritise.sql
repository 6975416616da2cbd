-- Gives locked jobs another priority and the places that follow from it. Those that are ready have moved in a window; a
-- lease is looked for here, in a statement of its own, so that a grant that won before the lock is seen.
WITH placed AS (
    UPDATE jobs j SET priority = @priority::int, place = n.place
    FROM unnest(@ids::bigint[], @befores::bigint[], @places::bigint[]) AS n (id, before, place)
    WHERE j.id = n.id
    RETURNING j.id, j.task_id, j.share_id, j.shape_id, j.place, n.before,
        CASE WHEN EXISTS (SELECT FROM leases l WHERE l.job_id = j.id) THEN 'leased' ELSE j.state END AS state
)
SELECT task_id, share_id, shape_id, state, place, before, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM placed
GROUP BY task_id, share_id, shape_id, state, place, before;
