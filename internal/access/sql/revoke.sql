-- The token of a name that is not revoked, else the one of a prefix; what is revoked stays as it was.
UPDATE tokens
SET revoked_at = coalesce(revoked_at, now()), revoked_by = coalesce(revoked_by, @by::text)
WHERE id = (
    SELECT t.id FROM tokens t
    WHERE t.name = @which::text OR t.prefix = left(@which::text, 16)
    ORDER BY t.revoked_at IS NOT NULL, t.name <> @which::text, t.id DESC
    LIMIT 1)
RETURNING id, name, prefix, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share, created_at, created_by,
    expires_at, revoked_at, coalesce(revoked_by, '') AS revoked_by, used_at
