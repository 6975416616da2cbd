-- The first live job of a task, from an id on, that another share is to get, of one share only or of any (0); 0 when there is none.
SELECT coalesce((
    SELECT j.id FROM jobs j
    WHERE j.task_id = @task::bigint AND j.id >= @from::bigint AND j.share_id <> @share::int AND (@only::int = 0 OR j.share_id = @only::int)
        AND (@running::boolean OR NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id))
    ORDER BY j.id
    LIMIT 1), 0);
