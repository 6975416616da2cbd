-- Ready jobs of some tasks, the first n of every share and shape in the ready order, for a slot that fits none of those that
-- read_narrow brought. It looks at all live jobs of these tasks: an index that spares this would cost every job 50 bytes and 2 us.
SELECT f.row, f.id, f.place, f.task_id, f.attempt, f.priority, f.idx, f.inputs, f.first_event, f.n_events, f.claims, f.first_made, f.share_id, f.shape_id
FROM (
    SELECT j.*, row_number() OVER (PARTITION BY j.share_id, j.shape_id ORDER BY j.place, j.id) AS nth
    FROM job_ranges r
    CROSS JOIN LATERAL (
        SELECT i.ctid AS row, i.id, i.place, i.task_id, i.attempt, i.priority, i.idx, i.inputs, coalesce(i.first_event, 0) AS first_event,
            coalesce(i.n_events, 0) AS n_events, i.claims, CASE WHEN i.retry_of IS NULL THEN i.created_at END AS first_made, i.share_id, i.shape_id
        FROM jobs i
        WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id AND i.state = 'ready'
            AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
        ORDER BY i.id
    ) j
    WHERE r.task_id = ANY (@tasks::bigint[])
) f
WHERE f.nth <= @n::int
ORDER BY f.share_id, f.shape_id, f.place, f.id;
