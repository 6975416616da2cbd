-- What failed attempts said of each task, user or share, most frequent first.
SELECT CASE @by::text WHEN 'task' THEN task_id::text WHEN 'user' THEN user_name ELSE share END AS by, outcome, exit_code, left(message, 80) AS message,
    count(*) AS attempts, count(DISTINCT task_id) AS tasks, count(DISTINCT node) AS nodes, min(job_id) AS for_example
FROM report.attempts
WHERE ended_at >= @since::timestamptz AND outcome IN ('failed', 'lost')
GROUP BY CASE @by::text WHEN 'task' THEN task_id::text WHEN 'user' THEN user_name ELSE share END, outcome, exit_code, left(message, 80)
ORDER BY attempts DESC, by, outcome, exit_code, message
LIMIT 100;
