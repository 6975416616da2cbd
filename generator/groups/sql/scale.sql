-- Other numbers for a locked task, and so other pieces to come.
UPDATE tasks SET scaled = @scaled::jsonb, n_pieces = @n_pieces::bigint, n_jobs = @n_jobs::bigint
WHERE id = @task::bigint AND state = @state::text AND n_generated <= @n_jobs::bigint;
