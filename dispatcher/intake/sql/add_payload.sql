-- Stores payloads of tasks; a repeat changes nothing.
INSERT INTO payloads (task_id, command, env, matrix, roles, retry, dir, stdout, stderr, image)
SELECT task_id, command, coalesce(env, '{}'), coalesce(matrix, '[]'), roles, retry, coalesce(dir, ''), coalesce(stdout, ''), coalesce(stderr, ''),
    coalesce(image, '')
FROM json_to_recordset(@payloads::json) AS p (task_id bigint, command text[], env jsonb, matrix jsonb, roles jsonb, retry jsonb,
    dir text, stdout text, stderr text, image text)
ON CONFLICT (task_id) DO NOTHING;
