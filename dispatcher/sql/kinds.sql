-- What kinds of jobs a task has, among its first blocks of live ones, and will have: the requirements of each, as shapes.
WITH blocks AS (
    SELECT b.low, b.high FROM job_blocks b WHERE b.task_id = @task::bigint ORDER BY b.low LIMIT @most::int
)
SELECT share_id, shape_id, sum(jobs)::bigint AS jobs, sum(to_come)::bigint AS to_come
FROM (
    SELECT c.share AS share_id, c.shape AS shape_id, c.high - c.low + 1 AS jobs, 0 AS to_come
    FROM blocks b
    CROSS JOIN LATERAL (
        SELECT i.share, i.shape, greatest(i.low, b.low) AS low, least(i.high, b.high) AS high
        FROM (
            (SELECT e.low, e.high, e.share, e.shape FROM idle_ranges e WHERE e.high BETWEEN b.low AND b.high ORDER BY e.high LIMIT @most::int)
            UNION ALL
            (SELECT e.low, e.high, e.share, e.shape FROM idle_ranges e WHERE e.high > b.high ORDER BY e.high LIMIT 1)
        ) i
        WHERE i.low <= b.high
    ) c
    UNION ALL
    SELECT h.share, h.shape, 1, 0
    FROM blocks b
    CROSS JOIN LATERAL (SELECT i.share, i.shape FROM held i WHERE i.job BETWEEN b.low AND b.high ORDER BY i.job LIMIT @most::int) h
    UNION ALL
    SELECT t.share_id, t.shape_id, 0, t.n_jobs - t.n_generated
    FROM tasks t
    WHERE t.id = @task::bigint AND t.n_generated < t.n_jobs AND t.ended_at IS NULL
        AND NOT EXISTS (SELECT FROM lots l WHERE l.task_id = t.id)
    UNION ALL
    SELECT t.share_id, unnest(l.shape_ids), 0, l.pieces_left
    FROM tasks t JOIN lots l ON l.task_id = t.id
    WHERE t.id = @task::bigint AND l.pieces_left > 0 AND t.ended_at IS NULL
) kinds
WHERE share_id IS NOT NULL AND shape_id IS NOT NULL
GROUP BY share_id, shape_id
ORDER BY shape_id, share_id;
