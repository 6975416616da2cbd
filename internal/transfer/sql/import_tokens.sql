-- Records of the kind token, as they come out of a file.
INSERT INTO tokens (id, name, prefix, hash, role, user_name, queues, share, created_at, created_by, expires_at, revoked_at, revoked_by, used_at) OVERRIDING SYSTEM VALUE
SELECT r.id, r.name, r.prefix, r.hash, r.role, r.user_name, r.queues, r.share, r.created_at, r.created_by, r.expires_at, r.revoked_at,
    r.revoked_by, r.used_at
FROM jsonb_to_recordset(@records::jsonb) AS r (id bigint, name text, prefix text, hash bytea, role text, user_name text, queues text[], share text, created_at timestamptz,
    created_by text, expires_at timestamptz, revoked_at timestamptz, revoked_by text, used_at timestamptz);
