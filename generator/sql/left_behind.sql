-- Running jobs of a task that are charged to another share than the one with this path.
SELECT count(*) FROM jobs j JOIN leases l ON l.job_id = j.id
WHERE j.task_id = @task::bigint AND l.share_id <> (SELECT s.id FROM shares s WHERE s.path = @share::text AND s.removed_in IS NULL);
