-- The next tasks whose verbs are not through: one has idle jobs (or moves that are not counted yet) in a state that
-- has none, or waiting ones that were released; a walk that leaves cancel orders goes to its end. Locked ones are in another daemon's hands.
SELECT id, state, coalesce(sweep_after, 0) AS after FROM tasks
WHERE sweep AND id > @after::bigint AND (sweep_rest IS NULL OR sweep_rest <= now())
    AND CASE state
        WHEN 'paused' THEN n_generated > n_waiting + n_leased + n_finished + n_failed + n_cancelled
        WHEN 'aborting' THEN sweep_after IS NOT NULL OR n_generated > n_leased + n_finished + n_failed + n_cancelled
        WHEN 'finishing' THEN n_generated > n_leased + n_finished + n_failed + n_cancelled
        ELSE state IN ('ready', 'scouting', 'running')
    END
ORDER BY id LIMIT @limit::int
FOR UPDATE SKIP LOCKED;
