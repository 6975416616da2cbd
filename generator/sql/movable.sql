-- Whether a task has live jobs that another share is to get.
SELECT EXISTS (
    SELECT FROM jobs j
    WHERE j.task_id = @task::bigint AND j.share_id <> @share::int
        AND (@running::boolean OR NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id))
);
