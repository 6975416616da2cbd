-- The end of what an attempt wrote, as its payload brought it and as its pilot reported it; 0 = the last one that has any or has ended.
WITH made AS MATERIALIZED (
    SELECT b.made_at FROM job_blocks b WHERE b.low <= @job::bigint ORDER BY b.low DESC LIMIT 1
), nth AS MATERIALIZED (
    SELECT x.attempt, max(x.ended_at) AS ended_at
    FROM (
        SELECT attempt, ended_at FROM history WHERE job = @job::bigint AND ended_at >= (SELECT made_at FROM made)
        UNION ALL
        SELECT attempt, NULL FROM payload_logs WHERE job_id = @job::bigint AND at >= (SELECT made_at FROM made)
    ) x
    WHERE @attempt::int = 0 OR x.attempt = @attempt::int
    GROUP BY x.attempt ORDER BY x.attempt DESC LIMIT 1
)
SELECT coalesce((SELECT p.log FROM payload_logs p WHERE p.job_id = @job::bigint AND p.attempt = nth.attempt AND p.at >= (SELECT made_at FROM made)
        ORDER BY p.at LIMIT 1), '') AS payload,
    coalesce((SELECT t.log FROM attempt_texts t
        WHERE t.job_id = @job::bigint AND t.attempt = nth.attempt AND t.ended_on = (nth.ended_at AT TIME ZONE 'UTC')::date), '') AS pilot
FROM nth;
