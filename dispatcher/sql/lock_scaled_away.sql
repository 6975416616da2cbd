-- Locks jobs of a task that were scaled away and that nobody runs, so that no grant can take them until this transaction ends.
SELECT j.id FROM jobs j
WHERE j.task_id = @task::bigint AND j.scaled_away AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
ORDER BY j.id
LIMIT @limit::int
FOR UPDATE OF j;
