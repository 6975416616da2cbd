-- As lock_counted, of all tasks that are not over.
SELECT t.id
FROM tasks t JOIN task_counts c ON c.task = t.id
WHERE t.ended_at IS NULL AND (t.started_at IS NULL OR t.state = 'ready' OR c.ready + c.paused + c.held + c.waiting = 0)
ORDER BY t.id
FOR UPDATE OF t;
