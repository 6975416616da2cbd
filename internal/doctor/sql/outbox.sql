-- Rows of the outbox that the log refused, up to a thousand, with the first of them, and how old the oldest is that it was not asked for yet.
SELECT (SELECT count(*) FROM (SELECT FROM outbox WHERE refused IS NOT NULL LIMIT 1000) x) AS refused,
    coalesce((SELECT o.id FROM outbox o WHERE o.refused IS NOT NULL ORDER BY o.id LIMIT 1), 0) AS first,
    coalesce((SELECT o.refused FROM outbox o WHERE o.refused IS NOT NULL ORDER BY o.id LIMIT 1), '') AS why,
    coalesce((SELECT extract(epoch FROM now() - o.made_at) FROM outbox o WHERE o.refused IS NULL ORDER BY o.id LIMIT 1), 0)::float8 AS waits_s;
