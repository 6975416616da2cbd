-- Old entries: they are the first by id, so that a step looks at no more than it drops and one more.
DELETE FROM audit
WHERE id IN (
    SELECT o.id FROM (SELECT a.id, a.at FROM audit a ORDER BY a.id LIMIT @limit::int) o
    WHERE o.at < now() - @keep_s::float8 * interval '1 s')
