-- Tasks that are so no more.
DELETE FROM paused_tasks WHERE task = ANY (@ids::bigint[]);
