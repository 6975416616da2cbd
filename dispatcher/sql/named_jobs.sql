-- Live jobs of a task with their names, which are their first inputs, but for those that were scaled away: there may be
-- others of the same name.
SELECT j.id, coalesce(j.inputs[1], '') AS name, NULL::timestamptz AS ended_at
FROM jobs j
WHERE j.task_id = @task::bigint AND j.scaled_away IS NULL
ORDER BY j.id;
