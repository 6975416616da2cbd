-- Stores a task's payload; a repeat changes nothing.
INSERT INTO payloads (task_id, command, env, matrix, roles)
VALUES (@task::bigint, @command::text[], @env::jsonb, @matrix::jsonb, @roles::jsonb)
ON CONFLICT (task_id) DO NOTHING;
