-- A need of a locked task is over: the task is ready if it was the last that it waited for, and knows all of its pieces if
-- there are no more to come: the last may have fewer inputs, but not where more come if it is tried again.
UPDATE tasks SET state = CASE WHEN state = 'waiting' AND share_id IS NOT NULL AND @waits::text = '' THEN @ready::text ELSE state END,
    reason = CASE WHEN @reason::text <> '' THEN @reason::text
        WHEN state <> 'waiting' OR share_id IS NULL THEN reason WHEN @waits::text = '' THEN '' ELSE 'waits for task ' || @waits::text END,
    chain = CASE WHEN chain = 'open' AND @following::bigint = 0 THEN CASE WHEN @broken::bigint > 0 THEN 'broken' END ELSE chain END,
    n_pieces = CASE WHEN chain = 'open' AND n_released IS NULL AND @following::bigint = 0 THEN (n_inputs + CASE WHEN @broken::bigint = 0 THEN per_job - 1 ELSE 0 END) / per_job + coalesce(n_halves, 0) ELSE n_pieces END,
    n_jobs = CASE WHEN chain = 'open' AND n_released IS NULL AND @following::bigint = 0
        THEN n_jobs + (n_inputs + CASE WHEN @broken::bigint = 0 THEN per_job - 1 ELSE 0 END) / per_job + coalesce(n_halves, 0) - n_pieces ELSE n_jobs END
WHERE id = @task::bigint
RETURNING chain IS DISTINCT FROM 'open' AND n_released IS NULL AND split = 'inputs' AND n_inputs = 0 AS empty;
