-- Claims of a task that jobs may get to hold, by their keys.
SELECT id, key FROM resource_claims WHERE task_id = @task::bigint AND state IN ('pending', 'bound');
