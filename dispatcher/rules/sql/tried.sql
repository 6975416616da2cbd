-- The attempts of jobs that did not finish, in their order, from the time on at which the oldest of the jobs was made.
SELECT h.job, h.attempt, h.outcome::text AS outcome, h.exit_code, h.memory_mb::bigint AS memory_mb, h.queue,
    extract(epoch FROM h.ended_at - h.granted_at)::float8 - greatest(h.start_delay_ms, 0) / 1000.0::float8 AS took_s,
    coalesce(t.reason, '') AS message, t.report
FROM history h
LEFT JOIN attempt_texts t ON t.job_id = h.job AND t.attempt = h.attempt AND t.ended_on = (h.ended_at AT TIME ZONE 'UTC')::date
WHERE h.job = ANY (@jobs::bigint[]) AND h.ended_at >= @since::timestamptz AND h.outcome <> 'f'
ORDER BY h.job, h.attempt;
