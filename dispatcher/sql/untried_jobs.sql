-- Jobs of a task with their names that failed or were cancelled, and that nothing has tried again, in the order in which
-- they would be.
SELECT e.id, coalesce(e.inputs[1], '') AS name, e.ended_at
FROM ended_jobs e
WHERE e.task_id = @task::bigint AND e.id > @after::bigint AND e.state IN ('failed', 'cancelled') AND e.scaled_away IS NULL
ORDER BY e.id;
