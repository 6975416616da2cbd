-- Whose tasks these are.
SELECT id, user_name FROM tasks WHERE id = ANY (@tasks::bigint[]);
