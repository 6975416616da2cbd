-- One task that is to be explained: how far it is, the one of its live jobs without a lease that is to start first, and what comes of its
-- share before its pieces that are no jobs yet, by shape (0: not known). Ready jobs go before jobs that wait. cut: it may have more blocks.
WITH task AS (
    SELECT t.id, t.state, t.reason, t.limited, t.user_name, t.share_id, t.priority, t.n_jobs, t.n_generated, t.n_ready, t.n_leased, t.ended_at
    FROM counted_tasks t WHERE t.id = @task::bigint
), blocks AS (
    SELECT b.low, b.high FROM job_blocks b WHERE b.task_id = @task::bigint ORDER BY b.low LIMIT @most::int
), first AS (
    SELECT c.low
    FROM blocks b
    CROSS JOIN LATERAL (
        SELECT greatest(i.low, b.low) AS low, i.state, i.place
        FROM (
            (SELECT e.low, e.high, e.state, e.place FROM idle_ranges e WHERE e.high BETWEEN b.low AND b.high ORDER BY e.high LIMIT @most::int)
            UNION ALL
            (SELECT e.low, e.high, e.state, e.place FROM idle_ranges e WHERE e.high > b.high ORDER BY e.high LIMIT 1)
        ) i
        WHERE i.low <= b.high
    ) c
    ORDER BY c.state = 'r' DESC, c.place, c.low LIMIT 1
), ahead AS (
    SELECT coalesce(array_agg(k.shape_id), '{}') AS shapes, coalesce(array_agg(k.pieces), '{}') AS pieces, coalesce(sum(k.tasks), 0)::bigint AS tasks
    FROM (
        SELECT b.shape_id, sum(b.pieces)::bigint AS pieces, count(*) AS tasks
        FROM (
            SELECT CASE WHEN b.lots IS NULL THEN coalesce(b.shape_id, 0) ELSE 0 END AS shape_id,
                greatest(least(b.n_jobs, b.quota) - b.n_generated, 0) AS pieces
            FROM tasks b JOIN task t ON b.share_id = t.share_id AND b.id <> t.id
            WHERE b.n_generated < b.n_jobs AND b.state IN ('ready', 'scouting', 'running')
                AND (b.priority > t.priority OR b.priority = t.priority AND b.id < t.id)
            ORDER BY b.share_id, b.priority DESC, b.id
            LIMIT @most::int
        ) b
        GROUP BY b.shape_id
    ) k
)
SELECT t.id AS task, t.state, coalesce(t.limited, t.reason) AS reason, t.user_name, coalesce(t.share_id, 0) AS share_id, coalesce(s.path, '') AS share,
    t.priority, t.n_jobs - t.n_generated AS to_come, t.n_ready AS ready, t.n_leased AS leased, t.ended_at IS NOT NULL AS over,
    (SELECT f.low FROM first f) AS first, (SELECT count(*) FROM blocks) >= @most::int AS cut, a.shapes AS ahead_shapes, a.pieces AS ahead_pieces,
    a.tasks >= @most::int AS more
FROM task t
CROSS JOIN ahead a
LEFT JOIN shares s ON s.id = t.share_id;
