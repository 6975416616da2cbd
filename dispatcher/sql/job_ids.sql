-- The ids of jobs of a task: live ones unless a choice of final states excludes them, ended ones in these states.
SELECT id FROM (
    (SELECT l.id FROM jobs l WHERE l.task_id = @task::bigint AND @live::boolean ORDER BY l.id LIMIT @n::int)
    UNION ALL
    (SELECT e.id FROM ended_jobs e WHERE e.task_id = @task::bigint AND e.state = ANY (@ended::text[]) ORDER BY e.id LIMIT @n::int)
) j
ORDER BY id
LIMIT @n::int;
