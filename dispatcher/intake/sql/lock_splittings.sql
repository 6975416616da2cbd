-- Jobs that wait until their piece has become two, locked in the order of their ids, with their pieces.
SELECT s.job_id AS job, s.task_id AS task, b.share_id AS share, s.shape_id AS shape, b.priority, s.attempt, b.max_attempts, j.idx AS index,
    j.inputs, coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS events, j.retry_of IS NOT NULL AS retry,
    coalesce((SELECT t.user_name FROM tasks t WHERE t.id = s.task_id), '') AS user, b.made_at AS created_at
FROM splittings s
JOIN jobs j ON j.id = s.job_id
CROSS JOIN LATERAL (
    SELECT b.share_id, b.priority, b.max_attempts, b.made_at FROM job_blocks b WHERE b.low <= s.job_id ORDER BY b.low DESC LIMIT 1
) b
WHERE s.job_id = ANY (@ids::bigint[])
ORDER BY s.job_id
FOR UPDATE OF s;
