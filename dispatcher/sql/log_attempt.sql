-- An attempt that has ended since then. The moment is a parameter, so that no other days are planned for or locked.
SELECT nonce, claimed_at
FROM attempts
WHERE job_id = @job::bigint AND attempt = @attempt::int AND ended_at >= @since::timestamptz;
