-- Makes room for inputs behind those that are stored. The row lock keeps a second sender out until they are there.
UPDATE tasks SET n_inputs = n_inputs + @n::bigint
WHERE id = @task::bigint AND state = 'submitting' AND split = 'inputs' AND n_inputs = @offset::bigint
RETURNING lots IS NOT NULL AS in_lots;
