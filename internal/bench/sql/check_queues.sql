-- Queues that hold more cores than they have slots.
SELECT count(*) FROM (
    SELECT q.id FROM queues q JOIN leases l ON l.queue_id = q.id
    WHERE q.removed_in IS NULL AND q.slots IS NOT NULL
    GROUP BY q.id, q.slots
    HAVING sum(l.cores) > q.slots
) wrong;
