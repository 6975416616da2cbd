-- Jobs of a task with their names, which are their first inputs. One that was scaled away says so: there may be others of its name.
-- The limits keep PostgreSQL from a join that reads all jobs.
SELECT j.id, j.name, coalesce(s.high >= j.id, false) AS away
FROM (SELECT low, high FROM job_blocks WHERE task_id = @task::bigint ORDER BY low LIMIT 1000000000) b
CROSS JOIN LATERAL (
    SELECT i.id, coalesce(i.inputs[1], '') AS name FROM jobs i WHERE i.id BETWEEN b.low AND b.high ORDER BY i.id LIMIT 1000000000
) j
LEFT JOIN LATERAL (
    SELECT a.high FROM scaled_away a WHERE a.task_id = @task::bigint AND a.low <= j.id ORDER BY a.low DESC LIMIT 1
) s ON true
ORDER BY j.id;
