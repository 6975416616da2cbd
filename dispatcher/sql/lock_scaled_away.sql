-- Locks jobs of a task that were scaled away and that nobody runs, so that no grant can take them until this transaction ends.
SELECT j.id
FROM (
    SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint ORDER BY high LIMIT 1000000000
) r
CROSS JOIN LATERAL (
    SELECT i.id FROM jobs i
    WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id AND i.scaled_away
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
    ORDER BY i.id
    LIMIT @limit::int
    FOR UPDATE OF i
) j
LIMIT @limit::int;
