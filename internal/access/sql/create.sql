-- A new token; a live one of the same name is a violation of tokens_name.
INSERT INTO tokens (name, prefix, hash, role, user_name, queues, share, created_by, expires_at)
VALUES (@name::text, @prefix::text, @hash::bytea, @role::text, nullif(@user_name::text, ''), @queues::text[], nullif(@share::text, ''), @by::text,
    CASE WHEN @expires_s::float8 > 0 THEN now() + @expires_s::float8 * interval '1 s' END)
RETURNING id, name, prefix, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share, created_at, created_by,
    expires_at, revoked_at, coalesce(revoked_by, '') AS revoked_by, used_at
