-- More pieces of a locked task may be jobs: those that come next in released_pieces.
WITH numbered AS (
    SELECT p.piece, p.n - 1 AS n, t.n_released - coalesce(t.n_halves, 0) AS n_released
    FROM tasks t CROSS JOIN unnest(@pieces::bigint[]) WITH ORDINALITY AS p (piece, n)
    WHERE t.id = @task::bigint
), stored AS (
    INSERT INTO released_pieces (task_id, position, pieces)
    SELECT @task::bigint, n_released + min(n), array_agg(piece ORDER BY n) FROM numbered GROUP BY n_released, n / 1000
)
UPDATE tasks SET n_released = n_released + cardinality(@pieces::bigint[]), n_jobs = n_jobs + cardinality(@pieces::bigint[])
WHERE id = @task::bigint AND chain = 'open';
