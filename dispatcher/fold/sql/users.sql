-- Whose tasks these are.
SELECT task, user_name FROM task_counts WHERE task = ANY (@ids::bigint[]);
