-- Locks jobs of a task that were scaled away and that nobody runs, so that no grant can take them until this transaction ends.
SELECT j.id
FROM job_ranges r
CROSS JOIN LATERAL (
    SELECT i.id FROM jobs i
    WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id AND i.scaled_away
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
    ORDER BY i.id
    LIMIT @limit::int
    FOR UPDATE OF i
) j
WHERE r.task_id = @task::bigint
ORDER BY r.high, j.id
LIMIT @limit::int;
