-- What was said of jobs when they were made.
SELECT j.job, b.low, b.high, b.max_attempts, b.made_at, p.retry AS terms
FROM unnest((SELECT @jobs::bigint[])) AS j (job)
CROSS JOIN LATERAL (SELECT * FROM job_blocks WHERE low <= j.job ORDER BY low DESC LIMIT 1) b
LEFT JOIN payloads p ON p.task_id = b.task_id
WHERE b.high >= j.job;
