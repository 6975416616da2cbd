-- Cores that the ready jobs of every share would take, counted from the jobs.
SELECT j.share_id, sum(h.cores)::bigint AS cores
FROM jobs j JOIN shapes h ON h.id = j.shape_id
WHERE j.state = 'ready' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
GROUP BY j.share_id;
