-- How a task (place -1) and those that its pieces wait for are cut, and whether pieces of them have become two.
SELECT n.place, n.id AS task_id, n.any_end, a.n_halves IS NOT NULL AS halved, a.split, a.per_job, a.n_events, a.n_inputs, a.n_pieces
FROM (
    SELECT place, needs_id AS id, condition = 'any' AS any_end FROM task_needs WHERE task_id = @task::bigint AND per_input AND outputs IS NULL
    UNION ALL SELECT -1, @task::bigint, false
) n
JOIN tasks a ON a.id = n.id
ORDER BY n.place;
