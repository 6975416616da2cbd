-- Other requirements and figures for a locked task that is over and about to be tried again.
UPDATE tasks SET shape_id = @shape::int, priority = @priority::int, max_attempts = @max_attempts::int, spec = @spec::json
WHERE id = @task::bigint AND state IN ('finished', 'failed');
