-- How many events some inputs of a task say they have. It reads all inputs of the task: pieces do not say where theirs are.
SELECT coalesce(sum(u.events), 0)::bigint
FROM inputs i CROSS JOIN LATERAL unnest(i.names, i.events) AS u (name, events)
WHERE i.task_id = @task::bigint AND i.events IS NOT NULL AND i.names && @names::text[] AND u.name = ANY (@names::text[]);
