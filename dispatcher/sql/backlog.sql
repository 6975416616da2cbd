-- Jobs of active tasks that are not generated yet, and that limits let be.
SELECT share_id, shape_id, sum(least(n_jobs, quota) - n_generated)::bigint AS jobs
FROM tasks
WHERE n_generated < n_jobs AND (quota IS NULL OR n_generated < quota) AND state IN ('ready', 'scouting', 'running')
GROUP BY share_id, shape_id;
