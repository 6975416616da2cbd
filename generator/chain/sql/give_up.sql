-- What a locked task needs will not come: without jobs it has failed, else what it has ends softly.
UPDATE tasks SET state = CASE WHEN n_generated = 0 THEN 'failed' ELSE 'finishing' END, reason = @reason::text,
    chain = CASE WHEN chain IS NOT NULL THEN 'broken' END, resume_state = NULL, ended_at = CASE WHEN n_generated = 0 THEN now() END
WHERE id = @task::bigint AND state IN ('waiting', 'ready', 'scouting', 'running', 'paused', 'throttled', 'exhausted')
RETURNING state;
