-- Locked tasks have as many more pieces, which are jobs already.
UPDATE tasks t SET n_pieces = n_pieces + h.n, n_split = n_split + h.n, n_jobs = n_jobs + h.n, n_generated = n_generated + h.n,
    n_released = n_released + h.n, n_halves = coalesce(n_halves, 0) + h.n
FROM (SELECT task_id, count(*) AS n FROM unnest(@tasks::bigint[]) AS task_id GROUP BY task_id) h
WHERE t.id = h.task_id;
