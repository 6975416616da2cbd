-- The next live jobs of a task, leased ones too, locked: what is read of them is what they are until this transaction ends.
SELECT j.id, j.share_id, j.place, j.priority, j.created_at
FROM (
    SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint AND high > @after::bigint ORDER BY high LIMIT 1000000000
) r
CROSS JOIN LATERAL (
    SELECT i.id, i.share_id, i.place, i.priority, i.created_at FROM jobs i
    WHERE i.id > @after::bigint AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
    ORDER BY i.id
    LIMIT @n::int
    FOR UPDATE OF i
) j
LIMIT @n::int;
