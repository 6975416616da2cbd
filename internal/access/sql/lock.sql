-- The token of a name that is not revoked, else the one of a prefix, to be revoked.
SELECT id, name, prefix, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share, created_at, created_by,
    expires_at, revoked_at, coalesce(revoked_by, '') AS revoked_by, used_at
FROM tokens
WHERE name = @which::text OR prefix = left(@which::text, 16)
ORDER BY revoked_at IS NOT NULL, name <> @which::text, id DESC
LIMIT 1
FOR UPDATE
