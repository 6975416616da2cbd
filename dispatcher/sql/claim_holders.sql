-- Leases of jobs that hold a claim.
SELECT l.job_id AS job, l.task_id AS task, coalesce(j.inputs[1], '') AS name, l.attempt, l.state, l.pilot, l.claimed_at AS since
FROM leases l
JOIN jobs j ON j.id = l.job_id
WHERE j.claims @> ARRAY[@claim::bigint]
ORDER BY l.job_id
LIMIT @n::int;
