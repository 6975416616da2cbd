-- Tasks that are paused.
INSERT INTO paused_tasks (task) SELECT unnest(@ids::bigint[]);
