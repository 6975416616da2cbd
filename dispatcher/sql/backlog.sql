-- Jobs of active tasks that are not generated yet.
SELECT share_id, shape_id, sum(n_jobs - n_generated)::bigint AS jobs
FROM tasks
WHERE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running')
GROUP BY share_id, shape_id;
