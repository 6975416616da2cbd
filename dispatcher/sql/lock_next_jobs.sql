-- The next live jobs of a task, leased ones too, locked: what is read of them is what they are until this transaction ends.
-- Some more than these may be locked: a range is read at once.
SELECT j.id, j.share_id, j.place, j.priority, j.created_at
FROM job_ranges r
CROSS JOIN LATERAL (
    SELECT i.id, i.share_id, i.place, i.priority, i.created_at FROM jobs i
    WHERE i.id > @after::bigint AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
    ORDER BY i.id
    LIMIT @n::int
    FOR UPDATE OF i
) j
WHERE r.task_id = @task::bigint AND r.high > @after::bigint
ORDER BY r.high, j.id
LIMIT @n::int;
