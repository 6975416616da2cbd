-- Rows that the machine did not take, the newest first.
SELECT id, made_at, entries::text AS entries, refused AS reason FROM outbox WHERE refused IS NOT NULL ORDER BY id DESC LIMIT @n::int;
