-- The next task whose verb is not through: it has idle jobs (or moves that are not counted yet) in a state that
-- has none, or waiting ones that were released. Locked ones are in another daemon's hands.
SELECT id, state FROM tasks
WHERE sweep AND id > @after::bigint
    AND CASE state
        WHEN 'paused' THEN n_generated > n_waiting + n_leased + n_finished + n_failed + n_cancelled
        WHEN 'aborting' THEN n_generated > n_leased + n_finished + n_failed + n_cancelled
        WHEN 'finishing' THEN n_generated > n_leased + n_finished + n_failed + n_cancelled
        ELSE state IN ('ready', 'scouting', 'running')
    END
ORDER BY id LIMIT 1
FOR UPDATE SKIP LOCKED;
