-- Claims of a task, locked.
SELECT id, task_id, key, members, made, false AS outside FROM claim_keys WHERE task_id = @task::bigint AND task_id > 0 ORDER BY id FOR UPDATE;
