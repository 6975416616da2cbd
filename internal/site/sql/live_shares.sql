-- The shares of the version in force.
SELECT s.id, s.path, s.leaf
FROM shares AS s
WHERE s.removed_in IS NULL
ORDER BY s.position
