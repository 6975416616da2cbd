-- Payloads of tasks.
SELECT task_id, command, env, matrix, roles FROM payloads WHERE task_id = ANY (@tasks::bigint[]);
