-- Publishes a streamed task: from here on its pieces are generated, unless it waits for other tasks.
UPDATE tasks t SET state = CASE WHEN EXISTS (
        SELECT FROM task_needs n WHERE n.task_id = t.id AND n.state = 'open' AND NOT n.per_input) THEN 'waiting' ELSE @state::text END,
    n_pieces = @n_pieces::bigint, n_jobs = coalesce(n_released, least(@n_pieces::bigint, scouts)), committed_at = now()
WHERE id = @task::bigint AND state = 'submitting' AND n_inputs = @n_inputs::bigint;
