-- Cores that every share could use beyond what it holds: of its ready jobs, and of those that its tasks have still to make.
SELECT w.share_id, sum(w.n * h.cores)::bigint AS cores
FROM (
    SELECT share AS share_id, shape AS shape_id, sum(high - low + 1) AS n FROM idle_ranges WHERE state = 'r' GROUP BY share, shape
    UNION ALL
    SELECT share_id, shape_id, sum(n_jobs - n_generated)
    FROM tasks
    WHERE ended_at IS NULL AND n_generated < n_jobs AND state IN ('ready', 'scouting', 'running')
    GROUP BY share_id, shape_id
) w
JOIN shapes h ON h.id = w.shape_id
GROUP BY w.share_id;
