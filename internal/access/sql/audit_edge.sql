-- The last of so many entries that are looked at, the newest first: by the primary key alone, whatever they say.
SELECT id, at
FROM audit
WHERE id < coalesce(nullif(@before::bigint, 0), 9223372036854775807)
ORDER BY id DESC
OFFSET @among::int - 1
LIMIT 1
