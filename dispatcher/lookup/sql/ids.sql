-- Ids of jobs of all tasks behind a cursor, rising.
SELECT id FROM jobs WHERE id > @after::bigint ORDER BY id LIMIT @n::int;
