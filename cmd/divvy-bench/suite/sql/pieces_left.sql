-- Jobs that tasks have still to make.
SELECT coalesce(sum(n_jobs - n_generated), 0)::bigint
FROM tasks WHERE n_generated < n_jobs AND state IN ('ready', 'scouting', 'running');
