-- Sweep is through with a task that was scaled down.
UPDATE tasks SET scaling = false WHERE id = @task::bigint;
