-- Blocks of a share go to another one, of tasks that are not over.
WITH moved AS (
    UPDATE job_blocks b SET share_id = @to::int
    WHERE b.share_id = @from::int
        AND NOT EXISTS (SELECT FROM tasks t WHERE t.id = b.task_id AND t.ended_at IS NOT NULL)
    RETURNING b.low, b.high, b.task_id, b.share_id, b.priority, b.made_at
)
SELECT low, high, task_id, share_id, priority, made_at FROM moved ORDER BY task_id, low;
