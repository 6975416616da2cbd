-- The attempts of jobs that were charged and did not finish, in their order, from the moment on that the oldest of the jobs was made.
SELECT job_id, attempt, outcome, exit_code, message, memory_mb, report, queue_id, ended_at,
    extract(epoch FROM ended_at - coalesce(started_at, claimed_at))::float8 AS took_s
FROM attempts
WHERE job_id = ANY (@ids::bigint[]) AND ended_at >= @since::timestamptz AND outcome IN ('failed', 'lost', 'cancelled')
ORDER BY job_id, attempt;
