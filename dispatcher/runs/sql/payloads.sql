-- What the jobs of tasks run.
SELECT p.task_id, p.command, p.env, p.matrix, p.roles FROM payloads p WHERE p.task_id = ANY (@tasks::bigint[]);
