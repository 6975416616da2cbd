-- Keeps the end of what a payload wrote, where nothing of its attempt is kept yet; since is its grant, so that no days before it are
-- planned for or locked. The first row of an attempt counts: two calls at once may both write one.
INSERT INTO payload_logs (job_id, attempt, log)
SELECT @job::bigint, @attempt::int, @log::text
WHERE NOT EXISTS (
    SELECT FROM payload_logs WHERE job_id = @job::bigint AND attempt = @attempt::int AND at >= @since::timestamptz
);
