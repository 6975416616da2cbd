-- The next task whose scouts are over: all have ended, be it that they were cancelled before any of them ran, or one has failed
-- all its attempts. Locked ones are in another daemon's hands.
SELECT id, n_failed > 0 AS failed FROM tasks
WHERE scouts IS NOT NULL AND scouted IS NULL AND ended_at IS NULL AND id > @after::bigint AND state IN ('ready', 'scouting', 'running')
    AND (n_failed > 0 OR n_generated >= n_jobs AND n_finished + n_failed + n_cancelled >= n_generated)
ORDER BY id LIMIT 1
FOR UPDATE SKIP LOCKED;
