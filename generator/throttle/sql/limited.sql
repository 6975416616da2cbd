-- Tasks that limits concern, or may: those that are not over and not on their way to it, by priority, then age, and those that
-- only hold what they have. Ended jobs are as of the last Settle: what lives is never more than this says.
SELECT t.id, t.state, t.user_name, coalesce(t.attributes ->> 'label', '') AS label, coalesce(s.path, '') AS share,
    coalesce(h.cores, 1) AS cores, t.n_jobs, t.n_generated, t.n_leased, t.n_finished + t.n_failed + t.n_cancelled AS ended, t.quota,
    coalesce(t.limited, '') AS limited
FROM counted_tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shapes h ON h.id = t.shape_id
WHERE t.ended_at IS NULL AND t.share_id IS NOT NULL
    AND t.state IN ('ready', 'scouting', 'running', 'throttled', 'paused', 'finishing', 'aborting')
ORDER BY t.priority DESC, t.id;
