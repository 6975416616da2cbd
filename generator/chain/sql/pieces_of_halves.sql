-- The pieces that second halves are parts of.
SELECT task_id, idx, piece, again FROM halves WHERE task_id = @task::bigint AND idx = ANY (@indexes::bigint[]);
