-- The first n ready jobs of each of some tasks, by id from one below which the task has none, for pulls that take no others.
-- Leased ones among them are passed over one by one: they are still ready in jobs. Said like this it goes by jobs_task and
-- never by all ids on from one, whatever is known of the table.
SELECT f.row, f.id, f.place, f.task_id, f.attempt, f.priority, f.idx, f.inputs, f.first_event, f.n_events, f.claims, f.created_at, f.share_id, f.shape_id
FROM unnest(@tasks::bigint[], @froms::bigint[], @ns::int[]) AS t (task_id, from_id, n)
CROSS JOIN LATERAL (
    SELECT j.ctid AS row, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs, coalesce(j.first_event, 0) AS first_event,
        coalesce(j.n_events, 0) AS n_events, j.claims, j.created_at, j.share_id, j.shape_id
    FROM jobs j
    WHERE (j.task_id, j.id) >= (t.task_id, t.from_id) AND j.task_id <= t.task_id AND j.state = 'ready'
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
    ORDER BY j.task_id, j.id
    LIMIT t.n
) f
ORDER BY f.share_id, f.shape_id, f.place, f.id;
