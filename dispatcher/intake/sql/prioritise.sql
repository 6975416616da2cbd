-- The priority of the jobs of a task; no row: they have it.
UPDATE job_blocks SET priority = @priority::int WHERE task_id = @task::bigint AND priority <> @priority::int;
