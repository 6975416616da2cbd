-- Up to which id all jobs of a task have ended. Ids of a task's jobs rise as they are made, so later ones lie behind.
SELECT coalesce((SELECT min(id) - 1 FROM jobs WHERE task_id = @task::bigint),
    (SELECT max(id) FROM ended_jobs WHERE task_id = @task::bigint), 0);
