-- A locked task gains what its deadline lets it, once; nothing comes back where it has it already.
UPDATE task_deadlines d SET boosted = d.boost FROM tasks t
WHERE d.task_id = @task::bigint AND t.id = d.task_id AND d.boosted < d.boost AND t.ended_at IS NULL
RETURNING t.priority + d.boost;
