-- Begins attempts: the next one is set at once, later the more there were, so that nothing is lost and an attempt that fails needs no write.
UPDATE webhook_messages m SET tries = tries + 1,
    due_at = now() + least(@first_s::float8 * 2 ^ least(tries, 16), @longest_s::float8) * (0.8 + random() * 0.4) * interval '1 s'
FROM (
    SELECT id FROM webhook_messages WHERE webhook = @webhook::text AND NOT over AND due_at <= now() ORDER BY due_at, id LIMIT @most::int FOR UPDATE SKIP LOCKED
) d
WHERE m.id = d.id
RETURNING m.id, m.event, m.body, m.tries
