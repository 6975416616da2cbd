-- The next jobs of a task that have finished, or ended in any way, by id.
SELECT id, idx, state = 'finished' AS finished, ended_at FROM ended_jobs
WHERE task_id = @task::bigint AND id > @after::bigint AND (@any::boolean OR state = 'finished')
ORDER BY id LIMIT @limit::int;
