-- The first live job of a task, from an id on, that another share is to get, of one share only or of any (0); 0 when there is none.
SELECT coalesce((
    SELECT j.id
    FROM job_ranges r
    CROSS JOIN LATERAL (
        SELECT i.id FROM jobs i
        WHERE i.id >= @from::bigint AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
            AND i.share_id <> @share::int AND (@only::int = 0 OR i.share_id = @only::int)
            AND (@running::boolean OR (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL)
        ORDER BY i.id
        LIMIT 1
    ) j
    WHERE r.task_id = @task::bigint AND r.high >= @from::bigint
    ORDER BY r.high
    LIMIT 1), 0);
