-- One job, live or ended, with what its task does. Five look-ups by key.
SELECT j.id, j.task_id, j.share_id, s.path AS share, j.shape_id, j.state, j.place, j.created_at,
    coalesce(j.inputs, '{}') AS inputs, coalesce(t.state, '') AS task_state, coalesce(t.reason, '') AS task_reason, coalesce(t.user_name, '') AS user_name, j.claims,
    r.due_at AS try_at, coalesce(r.judged, false) AS judged, coalesce(r.split, false) AS split
FROM (
    SELECT l.id, l.task_id, l.share_id, l.shape_id,
        CASE WHEN EXISTS (SELECT FROM leases x WHERE x.job_id = l.id) THEN 'leased' ELSE l.state END AS state,
        l.place, l.created_at, l.inputs, l.claims
    FROM jobs l WHERE l.id = @job::bigint
    UNION ALL
    SELECT e.id, e.task_id, e.share_id, e.shape_id, e.state, 0, e.created_at, e.inputs, NULL
    FROM ended_jobs e WHERE e.id = @job::bigint
) j
JOIN shares s ON s.id = j.share_id
LEFT JOIN tasks t ON t.id = j.task_id
LEFT JOIN retries r ON r.job_id = j.id AND j.state = 'waiting'
LIMIT 1;
