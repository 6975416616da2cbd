-- Up to which id all jobs of a task have ended. Ids of a task's jobs rise as they are made, so later ones lie behind.
SELECT coalesce((
        SELECT j.id - 1
        FROM (
            SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint ORDER BY high LIMIT 1000000000
        ) r
        CROSS JOIN LATERAL (
            SELECT i.id FROM jobs i WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id ORDER BY i.id LIMIT 1
        ) j
        LIMIT 1),
    (SELECT max(id) FROM ended_jobs WHERE task_id = @task::bigint), 0);
