-- The next task that was scaled down, and of which jobs may be left that are to be cancelled. Locked ones are in another
-- daemon's hands.
SELECT id FROM tasks
WHERE scaling AND id > @after::bigint
ORDER BY id LIMIT 1
FOR UPDATE SKIP LOCKED;
