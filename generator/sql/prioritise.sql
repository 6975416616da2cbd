-- Another priority for a locked task, whose jobs are to follow from the first on; the one of before comes back. Nothing
-- begins anew where the task has it already.
UPDATE tasks t SET priority = @priority::int,
    priority_after = CASE WHEN t.priority = @priority::int THEN t.priority_after ELSE 0 END
FROM (SELECT priority FROM tasks WHERE id = @task::bigint) old
WHERE t.id = @task::bigint
RETURNING old.priority;
