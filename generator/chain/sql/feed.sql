-- More inputs of a locked task, and the pieces that are full of them.
UPDATE tasks SET n_inputs = n_inputs + @n::bigint, n_pieces = (n_inputs + @n::bigint) / per_job + coalesce(n_halves, 0),
    n_jobs = n_jobs + (n_inputs + @n::bigint) / per_job + coalesce(n_halves, 0) - n_pieces
WHERE id = @task::bigint AND chain = 'open';
