-- The stock of every share that has pieces left: ready jobs and pieces by shape and priority, and by user where the share gives jobs
-- by fair turn among them, with the fence of the decision. Ready is what was generated less what is counted elsewhere, so a batch counts from its own commit on;
-- jobs that were leased a moment ago still count as ready. A task with several lots, or sizes of pieces, does not say of which
-- shape its ready jobs are: lots_ready has all of them at each.
-- Shares that have pieces left are looked up once: asked for each task, those whose quota is used up are read again for every
-- other task of their share.
WITH short AS MATERIALIZED (
    SELECT DISTINCT share_id FROM tasks
    WHERE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running') AND (quota IS NULL OR n_generated < quota)
), fair AS MATERIALIZED (
    SELECT id FROM shares WHERE plan->>'within' = 'fair_user'
)
SELECT share_id, user_name, shape_id, priority, sum(ready)::bigint AS ready, sum(lots_ready)::bigint AS lots_ready,
    sum(pieces_left)::bigint AS pieces_left, sum(tasks)::bigint AS tasks, max(epoch)::bigint AS epoch
FROM (
    SELECT t.share_id, CASE WHEN t.share_id IN (SELECT id FROM fair) THEN t.user_name ELSE '' END AS user_name, t.shape_id, t.priority,
        coalesce(sum(t.n_generated - t.n_waiting - t.n_leased - t.n_finished - t.n_failed - t.n_cancelled), 0) AS ready, 0 AS lots_ready,
        coalesce(sum(greatest(least(t.n_jobs, t.quota) - t.n_generated, 0)), 0) AS pieces_left, count(*) AS tasks, coalesce(max(g.epoch), 0) AS epoch
    FROM counted_tasks t
    LEFT JOIN generations g ON g.share_id = t.share_id
    WHERE t.ended_at IS NULL AND t.state IN ('ready', 'scouting', 'running') AND t.lots IS NULL
        AND t.share_id IN (SELECT share_id FROM short)
    GROUP BY 1, 2, t.shape_id, t.priority
    UNION ALL
    SELECT t.share_id, CASE WHEN t.share_id IN (SELECT id FROM fair) THEN t.user_name ELSE '' END, x.shape_id, t.priority, CASE WHEN x.others THEN 0 ELSE r.ready END, CASE WHEN x.others THEN r.ready ELSE 0 END,
        greatest(least(least(t.n_jobs, t.quota) - t.n_generated, x.pieces_left
            + CASE WHEN x.first THEN greatest(t.n_jobs - t.n_generated - (t.n_pieces - t.n_split), 0) ELSE 0 END), 0),
        1, coalesce(g.epoch, 0)
    FROM counted_tasks t
    LEFT JOIN generations g ON g.share_id = t.share_id
    CROSS JOIN LATERAL (
        SELECT t.n_generated - t.n_waiting - t.n_leased - t.n_finished - t.n_failed - t.n_cancelled AS ready
    ) r
    CROSS JOIN LATERAL (
        SELECT u.shape_id, sum(l.pieces_left)::bigint AS pieces_left, t.lots > 1 OR max(cardinality(l.shape_ids)) > 1 AS others,
            u.shape_id = (SELECT f.shape_ids[1] FROM lots f WHERE f.task_id = t.id ORDER BY f.lot LIMIT 1) AS first
        FROM lots l CROSS JOIN LATERAL unnest(l.shape_ids) AS u (shape_id)
        WHERE l.task_id = t.id
        GROUP BY u.shape_id
    ) x
    WHERE t.lots IS NOT NULL AND t.ended_at IS NULL AND t.state IN ('ready', 'scouting', 'running')
) s
GROUP BY share_id, user_name, shape_id, priority
ORDER BY share_id, user_name, shape_id, priority DESC;
