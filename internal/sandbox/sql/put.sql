-- Keeps a file where there is room, in place of one of the same name and owner. The bounds hold about: files that are put at the same
-- time do not see each other, and there are no more of these than a daemon takes at once.
WITH others AS (
    SELECT coalesce(sum(size), 0) AS bytes, count(*) AS n, coalesce(sum(size) FILTER (WHERE owner = @owner::text), 0) AS own
    FROM sandboxes WHERE name <> @name::text
)
INSERT INTO sandboxes AS kept (name, owner, size, checksum, content)
SELECT @name::text, @owner::text, length(@content::bytea), @checksum::bigint, @content::bytea
FROM others
WHERE bytes + length(@content::bytea) <= @max_all::bigint AND own + length(@content::bytea) <= @max_owner::bigint AND n < @max_files::bigint
ON CONFLICT (name) DO UPDATE
SET size = excluded.size, checksum = excluded.checksum, content = excluded.content, stored_at = clock_timestamp(), used_at = now()
WHERE kept.owner = excluded.owner;
