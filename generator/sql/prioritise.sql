-- Another priority for a locked task; the one of before comes back.
UPDATE tasks t SET priority = @priority::int
FROM (SELECT priority FROM tasks WHERE id = @task::bigint) old
WHERE t.id = @task::bigint
RETURNING old.priority;
