-- A task as it was submitted, and how its work is split.
SELECT spec, split FROM tasks WHERE id = @task::bigint;
