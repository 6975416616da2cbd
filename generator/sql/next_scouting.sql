-- The next task whose scouts are over: all have ended, be it that they were cancelled before any of them ran, or one has failed
-- all its attempts. Locked ones are in another daemon's hands.
SELECT t.id, coalesce(c.failed, 0) > 0 AS failed
FROM tasks t LEFT JOIN task_counts c ON c.task = t.id
WHERE t.scouts IS NOT NULL AND t.scouted IS NULL AND t.ended_at IS NULL AND t.id > @after::bigint AND t.state IN ('ready', 'scouting', 'running')
    AND (c.failed > 0 OR t.n_generated >= t.n_jobs AND coalesce(c.finished + c.failed + c.cancelled, 0) >= t.n_generated)
ORDER BY t.id LIMIT 1
FOR UPDATE OF t SKIP LOCKED;
