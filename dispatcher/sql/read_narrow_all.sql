-- Ready jobs of some tasks, the first n of every share and shape in the ready order, for a slot that fits none of those that
-- read_narrow brought. It looks at all live jobs of these tasks: an index that spares this would cost every job 50 bytes and 2 us.
SELECT f.row, f.id, f.place, f.task_id, f.attempt, f.priority, f.idx, f.inputs, f.first_event, f.n_events, f.claims, f.created_at, f.share_id, f.shape_id
FROM (
    SELECT j.ctid AS row, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs, coalesce(j.first_event, 0) AS first_event,
        coalesce(j.n_events, 0) AS n_events, j.claims, j.created_at, j.share_id, j.shape_id,
        row_number() OVER (PARTITION BY j.share_id, j.shape_id ORDER BY j.place, j.id) AS nth
    FROM jobs j
    WHERE j.task_id = ANY (@tasks::bigint[]) AND j.state = 'ready'
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
) f
WHERE f.nth <= @n::int
ORDER BY f.share_id, f.shape_id, f.place, f.id;
