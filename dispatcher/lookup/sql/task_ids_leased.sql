-- Ids of jobs of a task that have a lease, behind a cursor, block by block.
SELECT h.job
FROM (
    SELECT high, greatest(low, @after::bigint + 1) AS low FROM job_blocks
    WHERE task_id = @task::bigint AND high > @after::bigint AND low >= coalesce(
        (SELECT b.low FROM job_blocks b WHERE b.task_id = @task::bigint AND b.low <= @after::bigint ORDER BY b.low DESC LIMIT 1), 0)
    ORDER BY low LIMIT 1000000000
) r
CROSS JOIN LATERAL (SELECT i.job FROM held i WHERE i.job BETWEEN r.low AND r.high ORDER BY i.job LIMIT @n::int) h
LIMIT @n::int;
