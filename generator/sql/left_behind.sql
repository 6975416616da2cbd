-- Running jobs of a task that are charged to another share.
SELECT count(*) FROM jobs j JOIN leases l ON l.job_id = j.id
WHERE j.task_id = @task::bigint AND l.share_id <> @share::int;
