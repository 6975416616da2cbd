-- Ids of jobs of a task that have no lease and are not over, behind a cursor, block by block: in the ranges that end in the block, and the
-- one that goes on behind it.
SELECT g.id
FROM (
    SELECT high, greatest(low, @after::bigint + 1) AS low FROM job_blocks
    WHERE task_id = @task::bigint AND high > @after::bigint AND low >= coalesce(
        (SELECT b.low FROM job_blocks b WHERE b.task_id = @task::bigint AND b.low <= @after::bigint ORDER BY b.low DESC LIMIT 1), 0)
    ORDER BY low LIMIT 1000000000
) r
CROSS JOIN LATERAL (
    SELECT greatest(i.low, r.low) AS low, least(i.high, r.high) AS high
    FROM (
        (SELECT e.low, e.high, e.state FROM idle_ranges e WHERE e.high BETWEEN r.low AND r.high ORDER BY e.high)
        UNION ALL
        (SELECT e.low, e.high, e.state FROM idle_ranges e WHERE e.high > r.high ORDER BY e.high LIMIT 1)
    ) i
    WHERE i.low <= r.high AND (i.state = 'r' AND @ready::boolean OR i.state <> 'r' AND @waiting::boolean)
    ORDER BY i.high LIMIT @n::int
) c
CROSS JOIN LATERAL generate_series(c.low, least(c.high, c.low + @n::int - 1)) AS g (id)
LIMIT @n::int;
