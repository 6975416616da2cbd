-- Live jobs of a task with their names, which are their first inputs, but for those that were scaled away: there may be
-- others of the same name.
SELECT j.id, j.name, NULL::timestamptz AS ended_at
FROM job_ranges r
CROSS JOIN LATERAL (
    SELECT i.id, coalesce(i.inputs[1], '') AS name FROM jobs i
    WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id AND i.scaled_away IS NULL
    ORDER BY i.id
) j
WHERE r.task_id = @task::bigint
ORDER BY j.id;
