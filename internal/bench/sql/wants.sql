-- Cores that every share could use beyond what it holds: of its ready jobs, counted from the jobs, without those that are
-- leased, and of those that its tasks have still to make. A job stays ready while it is leased; that nobody moves one to
-- another share or stops it meanwhile, as in no benchmark, spares joining millions of jobs with what is leased of them.
SELECT w.share_id, sum(w.n * h.cores)::bigint AS cores
FROM (
    SELECT share_id, shape_id, count(*) AS n FROM jobs WHERE state = 'ready' GROUP BY share_id, shape_id
    UNION ALL
    SELECT share_id, shape_id, -count(*) FROM leases GROUP BY share_id, shape_id
    UNION ALL
    SELECT share_id, shape_id, sum(n_jobs - n_generated)
    FROM tasks
    WHERE ended_at IS NULL AND n_generated < n_jobs AND state IN ('ready', 'scouting', 'running')
    GROUP BY share_id, shape_id
) w
JOIN shapes h ON h.id = w.shape_id
GROUP BY w.share_id;
