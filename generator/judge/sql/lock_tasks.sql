-- Locks tasks in the order of their ids, as everybody does.
SELECT id FROM tasks WHERE id = ANY (@tasks::bigint[]) ORDER BY id FOR UPDATE;
