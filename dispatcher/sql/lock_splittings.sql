-- Jobs that wait until their piece has become two, locked in the order of their ids.
SELECT j.id AS job, j.task_id AS task, j.share_id AS share, j.shape_id AS shape, j.place, j.attempt, j.max_attempts, j.idx AS index,
    j.inputs, coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS events, j.retry_of IS NOT NULL AS retry, j.created_at
FROM jobs j
JOIN retries r ON r.job_id = j.id AND r.split AND r.attempt = j.attempt - 1
WHERE j.id = ANY (@ids::bigint[]) AND j.state = 'waiting'
ORDER BY j.id
FOR UPDATE OF j;
