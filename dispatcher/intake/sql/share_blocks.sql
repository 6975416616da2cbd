-- The next blocks of a share, of tasks that are not over, locked: what gives them another share or priority waits, and tells the log after.
SELECT b.low, b.high, b.task_id, b.share_id, b.priority, b.made_at
FROM job_blocks b
WHERE b.share_id = @share::int AND b.low > @after::bigint
    AND NOT EXISTS (SELECT FROM tasks t WHERE t.id = b.task_id AND t.ended_at IS NOT NULL)
ORDER BY b.low
LIMIT @n::int
FOR NO KEY UPDATE OF b;
