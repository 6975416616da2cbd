-- A token ends; one that is revoked already stays as it was.
UPDATE tokens
SET revoked_at = now(), revoked_by = @by::text
WHERE id = @id::bigint AND revoked_at IS NULL
RETURNING id, name, prefix, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share, created_at, created_by,
    expires_at, revoked_at, coalesce(revoked_by, '') AS revoked_by, used_at
