-- Jobs of one task by id behind a cursor, live and ended. A state is looked for among so many rows of its half only, however few
-- of the task's jobs are in it; without one both halves have as many as are wanted. Where an attempt that ended was the end
-- of its job it is found by the day of that, else by looking through all days. Of ended ones the order is by task too, and the task one of an
-- array: so the index of ids alone, along which there are all other tasks, is never taken for it.
WITH found AS (
    (SELECT l.id, l.task_id, l.share_id, l.shape_id, CASE WHEN x.job_id IS NULL THEN l.state ELSE 'leased' END AS state,
        l.priority, l.attempt, l.max_attempts, l.idx, l.inputs, l.retry_of, l.created_at, NULL::timestamptz AS ended_at
    FROM (
        SELECT i.*
        FROM (
            SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint AND high > @after::bigint AND @state::text IN ('', 'waiting', 'ready', 'leased') ORDER BY high LIMIT 1000000000
        ) r
        CROSS JOIN LATERAL (
            SELECT * FROM jobs i
            WHERE i.id > @after::bigint AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
            ORDER BY i.id LIMIT @most::int
        ) i
        LIMIT @most::int
    ) l
    LEFT JOIN LATERAL (SELECT y.job_id FROM leases y WHERE y.job_id = l.id LIMIT 1) x ON true
    WHERE @state::text = '' OR CASE WHEN x.job_id IS NULL THEN l.state ELSE 'leased' END = @state::text
    ORDER BY l.id LIMIT @n::int)
    UNION ALL
    (SELECT e.id, e.task_id, e.share_id, e.shape_id, e.state, e.priority, e.attempt, e.max_attempts, e.idx, e.inputs,
        e.retry_of, e.created_at, e.ended_at
    FROM (
        SELECT * FROM ended_jobs
        WHERE task_id = ANY (ARRAY[@task::bigint]) AND id > @after::bigint AND @state::text IN ('', 'finished', 'failed', 'cancelled')
        ORDER BY task_id, id LIMIT @most::int
    ) e
    WHERE @state::text = '' OR e.state = @state::text
    ORDER BY e.id LIMIT @n::int)
    ORDER BY id LIMIT @n::int
)
SELECT j.id, j.task_id, s.path AS share, j.shape_id, j.state, j.priority, j.attempt, j.max_attempts, j.idx, j.inputs,
    coalesce(j.retry_of, 0) AS retry_of, j.created_at, j.ended_at, coalesce(q.name, '') AS queue, coalesce(a.pilot, '') AS pilot, r.due_at AS try_at
FROM found j
JOIN shares s ON s.id = j.share_id
LEFT JOIN retries r ON r.job_id = j.id AND j.state = 'waiting'
LEFT JOIN LATERAL (
    SELECT x.queue_id, x.pilot FROM leases x WHERE x.job_id = j.id AND j.ended_at IS NULL
    UNION ALL
    (SELECT y.queue_id, y.pilot FROM attempts y WHERE y.job_id = j.id AND y.ended_at = j.ended_at ORDER BY y.attempt DESC LIMIT 1)
    UNION ALL
    (SELECT y.queue_id, y.pilot FROM attempts y WHERE y.job_id = j.id AND (j.attempt > 1 OR j.ended_at IS NOT NULL OR r.job_id IS NOT NULL) ORDER BY y.attempt DESC LIMIT 1)
    LIMIT 1
) a ON true
LEFT JOIN queues q ON q.id = a.queue_id
ORDER BY j.id;
