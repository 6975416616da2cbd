-- The first live job of a task, from an id on, that another share is to get, of one share only or of any (0); 0 when there is none.
SELECT coalesce((
    SELECT j.id
    FROM (
        SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint AND high >= @from::bigint ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT i.id FROM jobs i
        WHERE i.id >= @from::bigint AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
            AND i.share_id <> @share::int AND (@only::int = 0 OR i.share_id = @only::int)
            AND (@running::boolean OR (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL)
        ORDER BY i.id
        LIMIT 1
    ) j
    LIMIT 1), 0);
