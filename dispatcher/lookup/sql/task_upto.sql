-- The id of the nth job of a task behind a cursor; no row where it has fewer.
SELECT high - (upto - @n::bigint) AS id
FROM (
    SELECT high, sum(high - low + 1) OVER (ORDER BY low)::bigint AS upto
    FROM (
        SELECT high, greatest(low, @after::bigint + 1) AS low FROM job_blocks
        WHERE task_id = @task::bigint AND high > @after::bigint AND low >= coalesce(
            (SELECT b.low FROM job_blocks b WHERE b.task_id = @task::bigint AND b.low <= @after::bigint ORDER BY b.low DESC LIMIT 1), 0)
        ORDER BY low LIMIT @n::bigint
    ) r
) s
WHERE upto >= @n::bigint
ORDER BY high LIMIT 1;
