-- Live jobs of a task by their names, which are their first inputs, in the order of their ids; locked. Those that were scaled
-- away before are others of the same name.
SELECT j.id FROM jobs j
WHERE j.task_id = @task::bigint AND j.inputs[1] = ANY (@names::text[]) AND j.scaled_away IS NULL
ORDER BY j.id
FOR UPDATE OF j;
