-- A task as it was submitted, and what it was scaled to since.
SELECT spec, scaled FROM tasks WHERE id = @task::bigint;
