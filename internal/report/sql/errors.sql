-- What failed attempts said, most frequent first.
SELECT outcome, exit_code, left(message, 80) AS message, count(*) AS attempts, count(DISTINCT task_id) AS tasks, count(DISTINCT node) AS nodes,
    min(job_id) AS for_example
FROM report.attempts
WHERE ended_at >= @since::timestamptz AND outcome IN ('failed', 'lost')
GROUP BY outcome, exit_code, left(message, 80)
ORDER BY attempts DESC, outcome, exit_code, message
LIMIT 50;
