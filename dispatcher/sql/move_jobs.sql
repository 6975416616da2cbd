-- Gives the jobs of one share to another and counts those that have no lease.
WITH moved AS (
    UPDATE jobs SET share_id = @to::int WHERE share_id = @from::int RETURNING id, task_id, share_id, shape_id, state, place
)
SELECT task_id, share_id, shape_id, state, place, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM moved m
WHERE NOT EXISTS (SELECT FROM leases l WHERE l.job_id = m.id)
GROUP BY task_id, share_id, shape_id, state, place;
