-- Rows of the outbox that were refused so many seconds ago, at most so many.
DELETE FROM outbox WHERE id = ANY (ARRAY(
    SELECT o.id FROM outbox o WHERE o.refused IS NOT NULL AND o.made_at < now() - make_interval(secs => @keep_s::float8) ORDER BY o.id LIMIT @most::int));
