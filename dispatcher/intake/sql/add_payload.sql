-- Stores payloads of tasks; a repeat changes nothing.
INSERT INTO payloads (task_id, command, env, matrix, roles, retry)
SELECT task_id, command, coalesce(env, '{}'), coalesce(matrix, '[]'), roles, retry
FROM json_to_recordset(@payloads::json) AS p (task_id bigint, command text[], env jsonb, matrix jsonb, roles jsonb, retry jsonb)
ON CONFLICT (task_id) DO NOTHING;
