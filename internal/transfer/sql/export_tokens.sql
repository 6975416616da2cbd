-- Every token: of its text there is only the hash.
SELECT row_to_json(r)::text FROM (
    SELECT 'token' AS kind, id, name, prefix, hash, role, user_name, queues, share, created_at, created_by, expires_at, revoked_at, revoked_by, used_at
    FROM tokens
    ORDER BY id
) r;
