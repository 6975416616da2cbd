-- Blocks of a task go to another share; those of the log's jobs that are in another one by now stay there.
WITH moved AS (
    UPDATE job_blocks SET share_id = @to::int
    WHERE task_id = @task::bigint AND (@from::int = 0 OR share_id = @from::int)
    RETURNING low, high, task_id, share_id, priority, made_at
)
SELECT low, high, task_id, share_id, priority, made_at FROM moved ORDER BY low;
