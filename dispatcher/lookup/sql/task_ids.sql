-- Ids of jobs of a task behind a cursor: each id of its blocks is one.
SELECT g.id
FROM (
    SELECT high, greatest(low, @after::bigint + 1) AS low FROM job_blocks
    WHERE task_id = @task::bigint AND high > @after::bigint AND low >= coalesce(
        (SELECT b.low FROM job_blocks b WHERE b.task_id = @task::bigint AND b.low <= @after::bigint ORDER BY b.low DESC LIMIT 1), 0)
    ORDER BY low LIMIT @n::int
) r
CROSS JOIN LATERAL generate_series(r.low, least(r.high, r.low + @n::int - 1)) AS g (id)
LIMIT @n::int;
