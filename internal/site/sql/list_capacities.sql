-- Capacities that were set beside the file.
SELECT c.name, c.key, c.queue_id, c.capacity
FROM resource_capacities AS c
ORDER BY c.name, c.key, c.queue_id
