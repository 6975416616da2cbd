-- The stock of every share that has pieces left: ready jobs and pieces by shape and priority, with the fence of the
-- decision. Ready is what was generated less what is counted elsewhere, so a batch counts from its own commit on;
-- jobs that were leased a moment ago still count as ready.
SELECT t.share_id, t.shape_id, t.priority,
    coalesce(sum(t.n_generated - t.n_waiting - t.n_leased - t.n_finished - t.n_failed - t.n_cancelled), 0)::bigint AS ready,
    coalesce(sum(t.n_jobs - t.n_generated), 0)::bigint AS pieces_left, count(*)::bigint AS tasks,
    coalesce(max(g.epoch), 0)::bigint AS epoch
FROM tasks t
LEFT JOIN generations g ON g.share_id = t.share_id
WHERE t.ended_at IS NULL AND t.state IN ('ready', 'scouting', 'running')
    AND t.share_id IN (SELECT p.share_id FROM tasks p WHERE p.n_generated < p.n_jobs AND p.state IN ('ready', 'scouting', 'running'))
GROUP BY t.share_id, t.shape_id, t.priority
ORDER BY t.share_id, t.shape_id, t.priority DESC;
