-- The source of a file for later.
SELECT l.source
FROM site_later AS l
WHERE l.id = @id::bigint
