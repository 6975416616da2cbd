-- The next task whose live jobs do not all have its priority. Locked ones are in another daemon's hands.
SELECT id, priority, priority_after FROM tasks
WHERE priority_after IS NOT NULL AND id > @after::bigint
ORDER BY id LIMIT 1
FOR UPDATE SKIP LOCKED;
