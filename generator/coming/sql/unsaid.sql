-- Jobs of active tasks that are not generated yet, and that limits let be, by share and shape, where the log was told another number. Those
-- of a task with lots are of the shapes of its lots: sizes of pieces are cut in turn, and jobs that try again have the shape of the first
-- lot, as in levels.
WITH pieces AS (
    SELECT share_id, shape_id, sum(jobs)::bigint AS jobs
    FROM (
        SELECT share_id, shape_id, least(n_jobs, quota) - n_generated AS jobs
        FROM tasks
        WHERE n_generated < n_jobs AND (quota IS NULL OR n_generated < quota) AND state IN ('ready', 'scouting', 'running') AND lots IS NULL
        UNION ALL
        SELECT t.share_id, x.shape_id, least(least(t.n_jobs, t.quota) - t.n_generated, x.pieces_left
            + CASE WHEN x.first THEN greatest(t.n_jobs - t.n_generated - (t.n_pieces - t.n_split), 0) ELSE 0 END)
        FROM tasks t
        CROSS JOIN LATERAL (
            SELECT u.shape_id, sum(ceil(l.pieces_left / cardinality(l.shape_ids)::numeric))::bigint AS pieces_left,
                u.shape_id = (SELECT f.shape_ids[1] FROM lots f WHERE f.task_id = t.id ORDER BY f.lot LIMIT 1) AS first
            FROM lots l CROSS JOIN LATERAL unnest(l.shape_ids) AS u (shape_id)
            WHERE l.task_id = t.id
            GROUP BY u.shape_id
        ) x
        WHERE t.n_generated < t.n_jobs AND (t.quota IS NULL OR t.n_generated < t.quota) AND t.state IN ('ready', 'scouting', 'running')
            AND t.lots IS NOT NULL AND t.ended_at IS NULL
    ) s
    GROUP BY share_id, shape_id
)
SELECT coalesce(p.share_id, e.share) AS share, coalesce(p.shape_id, e.shape) AS shape, coalesce(p.jobs, 0) AS jobs
FROM pieces p
FULL JOIN expected e ON e.share = p.share_id AND e.shape = p.shape_id
WHERE coalesce(p.jobs, 0) <> coalesce(e.jobs, 0)
ORDER BY 1, 2;
