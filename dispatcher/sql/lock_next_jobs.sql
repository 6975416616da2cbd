-- The next live jobs of a task, leased ones too, locked: what is read of them is what they are until this transaction ends.
SELECT j.id, j.share_id, j.place, j.priority, j.created_at FROM jobs j
WHERE j.task_id = @task::bigint AND j.id > @after::bigint
ORDER BY j.id
LIMIT @n::int
FOR UPDATE OF j;
