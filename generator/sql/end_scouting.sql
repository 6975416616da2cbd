-- The scouts of a locked task are over, and its other pieces may become jobs.
UPDATE tasks SET scouted = @scouted::jsonb, shape_id = @shape::int, n_pieces = n_pieces + @more::bigint,
    n_jobs = greatest(n_pieces + @more::bigint, n_generated), reason = CASE WHEN state = 'exhausted' THEN '' ELSE reason END,
    state = CASE WHEN state IN ('scouting', 'exhausted') THEN 'running' ELSE state END,
    resume_state = CASE WHEN resume_state = 'scouting' THEN 'running' ELSE resume_state END
WHERE id = @task::bigint
RETURNING state;
