-- What pilots said of attempts that failed in a stretch of time.
INSERT INTO attempt_texts (job_id, ended_on, attempt, reason, report)
SELECT job, (ended_at AT TIME ZONE 'UTC')::date, attempt, 'the payload ended with ' || exit_code, jsonb_build_object('pilotErrorCode', 1300 + exit_code)
FROM history
WHERE outcome = 'x' AND ended_at >= @since::timestamptz AND ended_at < @until::timestamptz;
