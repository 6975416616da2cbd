-- Deletes files that nobody used for so long, so many at once.
DELETE FROM sandboxes WHERE name IN (
    SELECT name FROM sandboxes WHERE used_at < now() - @unused::interval
    ORDER BY used_at LIMIT @n::int
    FOR UPDATE SKIP LOCKED
);
