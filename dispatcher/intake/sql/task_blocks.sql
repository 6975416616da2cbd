-- All blocks of a task, in the order of their ids.
SELECT low, high, task_id, share_id, priority, made_at FROM job_blocks WHERE task_id = @task::bigint ORDER BY low;
