-- The next task that no rule had matched under an older site version.
SELECT id, attributes FROM tasks
WHERE state = 'waiting' AND share_id IS NULL AND id > @after::bigint AND site_version < @site_version::bigint
ORDER BY id LIMIT @limit::int
FOR UPDATE SKIP LOCKED;
