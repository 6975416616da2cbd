-- Sweep is through with a task.
UPDATE tasks SET sweep = false WHERE id = @task::bigint AND state = @state::text;
