-- Who is let in: read by every daemon every few seconds, from an index of those that are not revoked.
SELECT id, name, hash, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share
FROM tokens
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
