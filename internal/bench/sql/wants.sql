-- Cores that every share could use beyond what it holds: of its ready jobs, counted from the jobs, and of those that its
-- tasks have still to make.
SELECT w.share_id, sum(w.n * h.cores)::bigint AS cores
FROM (
    SELECT j.share_id, j.shape_id, count(*) AS n
    FROM jobs j
    WHERE j.state = 'ready' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    GROUP BY j.share_id, j.shape_id
    UNION ALL
    SELECT t.share_id, t.shape_id, sum(t.n_jobs - t.n_generated)
    FROM tasks t
    WHERE t.ended_at IS NULL AND t.n_generated < t.n_jobs AND t.state IN ('ready', 'scouting', 'running')
    GROUP BY t.share_id, t.shape_id
) w
JOIN shapes h ON h.id = w.shape_id
GROUP BY w.share_id;
