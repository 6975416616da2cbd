-- The first n ready jobs of each of some tasks, by id from one below which the task has none, for pulls that take no others.
-- Leased ones among them are passed over one by one: they are still ready in jobs.
SELECT f.row, f.id, f.place, f.task_id, f.attempt, f.priority, f.idx, f.inputs, f.first_event, f.n_events, f.claims, f.first_made, f.share_id, f.shape_id
FROM unnest(@tasks::bigint[], @froms::bigint[], @ns::int[]) AS t (task_id, from_id, n)
CROSS JOIN LATERAL (
    SELECT j.*
    FROM (
        SELECT task_id, low, high FROM job_ranges WHERE task_id = t.task_id AND high >= t.from_id ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT i.ctid AS row, i.id, i.place, i.task_id, i.attempt, i.priority, i.idx, i.inputs, coalesce(i.first_event, 0) AS first_event,
            coalesce(i.n_events, 0) AS n_events, i.claims, CASE WHEN i.retry_of IS NULL THEN i.created_at END AS first_made, i.share_id, i.shape_id
        FROM jobs i
        WHERE i.id >= t.from_id AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id AND i.state = 'ready'
            AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
        ORDER BY i.id
        LIMIT t.n
    ) j
    LIMIT t.n
) f
ORDER BY f.share_id, f.shape_id, f.place, f.id;
