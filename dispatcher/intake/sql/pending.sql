-- Rows of the outbox that the log does not have.
SELECT id, made_at, entries::text AS entries FROM outbox WHERE id > @after::bigint AND refused IS NULL ORDER BY id LIMIT @n::int;
