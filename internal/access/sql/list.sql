-- Tokens by name, those that are let in or all.
SELECT id, name, prefix, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share, created_at, created_by,
    expires_at, revoked_at, coalesce(revoked_by, '') AS revoked_by, used_at
FROM tokens
WHERE @all::bool OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
ORDER BY name, id
