-- A task as it was submitted.
SELECT spec FROM tasks WHERE id = @task::bigint;
