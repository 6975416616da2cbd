-- The end of what an attempt wrote; 0 = the last that ended.
SELECT log_tail FROM attempts
WHERE job_id = @job::bigint AND (@attempt::int = 0 OR attempt = @attempt::int)
ORDER BY attempt DESC LIMIT 1;
