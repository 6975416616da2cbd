-- Tasks that limits concern, or may: those that are not over and not on their way to it, by priority, then age, and those that
-- only hold what they have. Ended jobs are as of the last Settle: what lives is never more than this says. Where the site has no limits
-- these are the few that have a quota.
WITH bounded AS (
    SELECT id, max_running FROM tasks WHERE @limits::boolean AND ended_at IS NULL
    UNION ALL
    SELECT id, max_running FROM tasks WHERE NOT @limits::boolean AND quota IS NOT NULL AND ended_at IS NULL
)
SELECT t.id, t.state, t.user_name, coalesce(t.attributes ->> 'label', '') AS label, coalesce(s.path, '') AS share,
    coalesce(h.cores, 1) AS cores, t.n_jobs, t.n_generated, t.n_leased, t.n_finished + t.n_failed + t.n_cancelled AS ended, bounded.max_running, t.quota,
    coalesce(t.limited, '') AS limited
FROM bounded
JOIN counted_tasks t ON t.id = bounded.id
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shapes h ON h.id = t.shape_id
WHERE t.ended_at IS NULL AND t.share_id IS NOT NULL
    AND t.state IN ('ready', 'scouting', 'running', 'throttled', 'paused', 'finishing', 'aborting')
ORDER BY t.priority DESC, t.id;
