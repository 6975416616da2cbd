-- Who is let in, and who was until lately, so that it can be told why it is not any more: read by every daemon every few
-- seconds, from an index of those that are not revoked.
SELECT id, name, hash, role, coalesce(user_name, '') AS user, queues, coalesce(share, '') AS share,
    expires_at, coalesce(expires_at <= now(), false) AS expired
FROM tokens
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now() - @told_s::float8 * interval '1 s')
