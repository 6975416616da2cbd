-- Gives up messages that are too old, or too many of a receiver: the oldest first.
WITH given AS (
    SELECT id, event FROM (
        SELECT id, event, made_at, row_number() OVER (PARTITION BY webhook ORDER BY id DESC) AS n FROM webhook_messages WHERE NOT over
    ) m WHERE m.made_at < now() - @age_s::float8 * interval '1 s' OR m.n > @most::int
), gone AS (
    DELETE FROM webhook_messages m USING given g WHERE m.id = g.id AND g.event LIKE 'task.%' RETURNING m.webhook
), kept AS (
    UPDATE webhook_messages m SET over = true FROM given g WHERE m.id = g.id AND g.event NOT LIKE 'task.%' RETURNING m.webhook
)
SELECT webhook, count(*) AS n FROM (TABLE gone UNION ALL TABLE kept) a GROUP BY webhook
