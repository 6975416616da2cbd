-- The queues of the version in force.
SELECT q.id, q.name, q.state
FROM queues AS q
WHERE q.removed_in IS NULL
ORDER BY q.position
