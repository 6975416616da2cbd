-- Jobs with these ids, live and ended, each with its running attempt or else its last one. What payloads wrote as their
-- metadata is left out of reports: it may be large, and job_metadata reads it.
SELECT j.id, j.task_id, s.path AS share, j.shape_id, j.state, j.priority, j.attempt, j.max_attempts, j.idx, j.inputs,
    j.retry_of, j.created_at, j.ended_at, coalesce(q.name, '') AS queue, coalesce(a.pilot, '') AS pilot, r.due_at AS try_at,
    coalesce(a.attempt, 0) AS last_attempt, coalesce(a.node, '') AS node, coalesce(a.state, '') AS last_state, a.claimed_at,
    a.started_at, a.ended_at AS last_ended_at, a.exit_code, coalesce(a.message, '') AS message, coalesce(a.cpu_s, 0) AS cpu_s,
    coalesce(a.memory_mb, 0) AS memory_mb, a.outputs, a.report - 'metaData' AS report
FROM (
    SELECT l.id, l.task_id, l.share_id, l.shape_id,
        CASE WHEN EXISTS (SELECT FROM leases x WHERE x.job_id = l.id) THEN 'leased' ELSE l.state END AS state,
        l.priority, l.attempt, l.max_attempts, l.idx, l.inputs,
        coalesce(l.retry_of, 0) AS retry_of, l.created_at, NULL::timestamptz AS ended_at
    FROM jobs l WHERE l.id = ANY (@ids::bigint[])
    UNION ALL
    SELECT e.id, e.task_id, e.share_id, e.shape_id, e.state, e.priority, e.attempt, e.max_attempts, e.idx, e.inputs,
        coalesce(e.retry_of, 0), e.created_at, e.ended_at
    FROM ended_jobs e WHERE e.id = ANY (@ids::bigint[])
) j
JOIN shares s ON s.id = j.share_id
LEFT JOIN LATERAL (
    SELECT x.attempt, x.queue_id, x.pilot, x.node, x.state, x.claimed_at, x.started_at, NULL::timestamptz AS ended_at,
        NULL::int AS exit_code, '' AS message, x.cpu_s, x.memory_mb, NULL::jsonb AS outputs,
        (SELECT r.report FROM lease_reports r WHERE r.job_id = x.job_id AND r.attempt = x.attempt) AS report
    FROM leases x WHERE x.job_id = j.id
    UNION ALL
    (SELECT y.attempt, y.queue_id, y.pilot, y.node, y.outcome, y.claimed_at, y.started_at, y.ended_at, y.exit_code, y.message,
        y.cpu_s, y.memory_mb, y.outputs, y.report
    FROM attempts y WHERE y.job_id = j.id ORDER BY y.attempt DESC LIMIT 1)
    LIMIT 1
) a ON true
LEFT JOIN queues q ON q.id = a.queue_id
LEFT JOIN retries r ON r.job_id = j.id AND j.state = 'waiting'
ORDER BY j.id;
