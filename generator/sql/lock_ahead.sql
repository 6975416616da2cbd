-- Locks the first live tasks of a share.
SELECT t.id FROM tasks t
WHERE t.ended_at IS NULL AND t.share_id = @share::int
ORDER BY t.id
LIMIT @limit::int
FOR UPDATE OF t;
