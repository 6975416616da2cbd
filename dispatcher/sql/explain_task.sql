-- One task: how far it is, the one of its first live jobs that is to start first, and what comes of its share before its pieces that
-- are no jobs yet, by shape (0: not known): pieces of so many tasks at the most, as far as limits let them come. Ready jobs go before
-- jobs that wait. cut: it may have more live jobs than were looked at.
WITH task AS (
    SELECT t.id, t.state, t.reason, t.limited, t.user_name, t.share_id, t.priority, t.n_jobs, t.n_generated, t.n_ready, t.n_leased, t.ended_at
    FROM tasks t WHERE t.id = @task::bigint
), live AS (
    SELECT j.id, j.state, j.place
    FROM (
        SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT i.id, i.state, i.place FROM jobs i
        WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
        ORDER BY i.id LIMIT @most::int
    ) j
    LIMIT @most::int
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
SELECT t.id, t.state, coalesce(t.limited, t.reason) AS reason, t.user_name, coalesce(t.share_id, 0) AS share_id, coalesce(s.path, '') AS share,
    t.priority, t.n_jobs - t.n_generated AS to_come, t.n_ready AS ready, t.n_leased AS leased, t.ended_at IS NOT NULL AS over,
    (SELECT l.id FROM live l WHERE NOT EXISTS (SELECT FROM leases x WHERE x.job_id = l.id)
        ORDER BY l.state = 'ready' DESC, l.place, l.id LIMIT 1) AS first,
    (SELECT count(*) FROM live) >= @most::int AS cut, a.shapes AS ahead_shapes, a.pieces AS ahead_pieces, a.tasks >= @most::int AS more
FROM task t
CROSS JOIN ahead a
LEFT JOIN shares s ON s.id = t.share_id;
