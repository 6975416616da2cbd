-- Holds off whoever is about to give these shares work: a task or a job that names a share takes a key lock on its row.
SELECT s.id
FROM shares AS s
WHERE s.id = ANY (@ids::int[])
ORDER BY s.id
FOR UPDATE
