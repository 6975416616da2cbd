-- Publishes a streamed task: from here on its pieces are generated.
UPDATE tasks SET state = @state::text, n_pieces = @n_pieces::bigint, n_jobs = @n_pieces::bigint, committed_at = now()
WHERE id = @task::bigint AND state = 'submitting' AND n_inputs = @n_inputs::bigint;
