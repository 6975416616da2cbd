-- The ids of jobs of a task: live ones unless a choice of final states excludes them, ended ones in these states.
SELECT id FROM (
    (SELECT l.id
    FROM (
        SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint AND @live::boolean ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT i.id FROM jobs i WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id ORDER BY i.id LIMIT @n::int
    ) l
    LIMIT @n::int)
    UNION ALL
    (SELECT e.id FROM ended_jobs e WHERE e.task_id = @task::bigint AND e.state = ANY (@ended::text[]) ORDER BY e.id LIMIT @n::int)
) j
ORDER BY id
LIMIT @n::int;
