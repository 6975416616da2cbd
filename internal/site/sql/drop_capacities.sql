-- Capacities that were set for what the new version does not have: the resource, keys of it, units per queue, the queue.
DELETE FROM resource_capacities AS c
WHERE NOT EXISTS (
        SELECT
        FROM site_resources AS r
        WHERE r.version = @version::bigint AND r.name = c.name AND (r.keyed OR c.key = '') AND (r.per_queue OR c.queue_id = 0))
   OR c.queue_id <> 0 AND NOT EXISTS (SELECT FROM queues AS q WHERE q.id = c.queue_id AND q.removed_in IS NULL)
