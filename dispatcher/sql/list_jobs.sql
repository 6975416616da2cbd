-- Jobs by id, live and ended: each half reads at most n rows behind the cursor.
SELECT j.id, j.task_id, s.path AS share, j.shape_id, j.state, j.priority, j.attempt, j.max_attempts, j.idx, j.inputs,
    coalesce(j.retry_of, 0) AS retry_of, j.created_at, j.ended_at, coalesce(q.name, '') AS queue, coalesce(a.pilot, '') AS pilot, r.due_at AS try_at
FROM (
    (SELECT l.id, l.task_id, l.share_id, l.shape_id, CASE WHEN x.job_id IS NULL THEN l.state ELSE 'leased' END AS state,
        l.priority, l.attempt, l.max_attempts, l.idx, l.inputs, l.retry_of, l.created_at, NULL::timestamptz AS ended_at
    FROM jobs l
    LEFT JOIN leases x ON x.job_id = l.id
    WHERE l.id > @after::bigint AND (@state::text = '' OR CASE WHEN x.job_id IS NULL THEN l.state ELSE 'leased' END = @state::text)
    ORDER BY l.id LIMIT @n::int)
    UNION ALL
    (SELECT e.id, e.task_id, e.share_id, e.shape_id, e.state, e.priority, e.attempt, e.max_attempts, e.idx, e.inputs,
        e.retry_of, e.created_at, e.ended_at
    FROM ended_jobs e
    WHERE e.id > @after::bigint AND (@state::text = '' OR e.state = @state::text)
    ORDER BY e.id LIMIT @n::int)
) j
JOIN shares s ON s.id = j.share_id
LEFT JOIN LATERAL (
    SELECT x.queue_id, x.pilot FROM leases x WHERE x.job_id = j.id
    UNION ALL
    (SELECT y.queue_id, y.pilot FROM attempts y WHERE y.job_id = j.id ORDER BY y.attempt DESC LIMIT 1)
    LIMIT 1
) a ON true
LEFT JOIN queues q ON q.id = a.queue_id
LEFT JOIN retries r ON r.job_id = j.id AND j.state = 'waiting'
ORDER BY j.id
LIMIT @n::int;
