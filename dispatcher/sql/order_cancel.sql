-- Leaves a cancel order at every lease of a task; the pilots hear it at their next renewal.
UPDATE leases l SET cancel_reason = @reason::text, cancel_grace_s = @grace_s::int
FROM jobs j
WHERE j.task_id = @task::bigint AND l.job_id = j.id AND l.cancel_reason IS NULL;
