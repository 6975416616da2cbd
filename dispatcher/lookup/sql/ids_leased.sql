-- Ids of jobs that have a lease, behind a cursor.
SELECT job FROM held WHERE job > @after::bigint ORDER BY job LIMIT @n::int;
