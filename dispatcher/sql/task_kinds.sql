-- What kinds of jobs a task has, among its first live ones, and will have: the requirements of each, as shapes.
SELECT share_id, shape_id, sum(jobs)::bigint AS jobs, sum(to_come)::bigint AS to_come
FROM (
    SELECT share_id, shape_id, 1 AS jobs, 0 AS to_come
    FROM (
        SELECT j.share_id, j.shape_id
        FROM (
            SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint ORDER BY high LIMIT 1000000000
        ) r
        CROSS JOIN LATERAL (
            SELECT i.id, i.share_id, i.shape_id FROM jobs i
            WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
            ORDER BY i.id LIMIT @most::int
        ) j
        LIMIT @most::int
    ) live
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
