-- One task with what it is made up of and how far its jobs are made, locked against all who change tasks.
SELECT id, state, split, spec, scaled, n_split, n_pieces, n_jobs, n_generated, retry_after
FROM tasks WHERE id = @task::bigint FOR UPDATE;
