-- Leases of a task that a step does not name, to be counted for another share.
SELECT job, nth, units, share, shape, queue FROM held
WHERE task = @task::bigint AND job >= @low::bigint AND job <= @high::bigint AND job <> ALL (@named::bigint[]);
