-- Versions, newest first, behind a cursor.
SELECT v.version, v.applied_at, v.applied_by, v.note, coalesce(v.rollback_of, 0) AS rollback_of
FROM site_versions AS v
WHERE @before::bigint = 0 OR v.version < @before::bigint
ORDER BY v.version DESC
LIMIT @limit::int
