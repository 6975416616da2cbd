-- The next live jobs of a task, leased ones too, locked: what is read of them is what they are until this transaction ends.
-- Said like this it goes by jobs_task and never by all ids on from one: behind the last job of a task may be millions of others.
SELECT j.id, j.share_id, j.place, j.priority, j.created_at FROM jobs j
WHERE (j.task_id, j.id) > (@task::bigint, @after::bigint) AND j.task_id <= @task::bigint
ORDER BY j.task_id, j.id
LIMIT @n::int
FOR UPDATE OF j;
