-- The first job of a task that failed, with how its last attempt ended.
SELECT e.id, e.attempt, coalesce(a.outcome, '') AS outcome, a.exit_code, coalesce(a.message, '') AS message
FROM ended_jobs e
LEFT JOIN attempts a ON a.job_id = e.id AND a.attempt = e.attempt
WHERE e.task_id = @task::bigint AND e.state = 'failed'
ORDER BY e.id LIMIT 1;
