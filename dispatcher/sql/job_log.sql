-- The end of what an attempt wrote, as its payload brought it and as its pilot reported it; 0 = the last one that has any or
-- has ended.
WITH nth AS (
    SELECT max(x.attempt) AS attempt
    FROM (
        SELECT attempt FROM attempts WHERE job_id = @job::bigint
        UNION ALL
        SELECT attempt FROM payload_logs WHERE job_id = @job::bigint
    ) x
    WHERE @attempt::int = 0 OR x.attempt = @attempt::int
)
SELECT coalesce((SELECT p.log FROM payload_logs p WHERE p.job_id = @job::bigint AND p.attempt = nth.attempt ORDER BY p.at LIMIT 1), '') AS payload,
    coalesce((SELECT a.log_tail FROM attempts a WHERE a.job_id = @job::bigint AND a.attempt = nth.attempt LIMIT 1), '') AS pilot
FROM nth WHERE nth.attempt IS NOT NULL;
