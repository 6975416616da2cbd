-- Payloads of tasks, and when these were submitted: of a streamed task when it was complete.
SELECT p.task_id, p.command, p.env, p.matrix, p.roles,
    (SELECT coalesce(t.committed_at, t.created_at) FROM tasks t WHERE t.id = p.task_id) AS submitted_at
FROM payloads p WHERE p.task_id = ANY (@tasks::bigint[]);
