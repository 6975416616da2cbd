-- What the jobs of tasks run, and when the tasks were submitted.
SELECT p.task_id, p.command, p.env, p.matrix, p.roles, p.dir, p.stdout, p.stderr, p.image,
    (SELECT t.created_at FROM tasks t WHERE t.id = p.task_id) AS submitted
FROM payloads p WHERE p.task_id = ANY (@tasks::bigint[]);
