-- Rows of the outbox that the log does not have.
SELECT id, entries::text AS entries FROM outbox WHERE refused IS NULL ORDER BY id LIMIT @n::int;
