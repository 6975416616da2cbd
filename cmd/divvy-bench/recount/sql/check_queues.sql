-- Queues that hold more cores than they have slots.
SELECT count(*) FROM (
    SELECT q.id FROM queues q JOIN held h ON h.queue = q.id JOIN shapes s ON s.id = h.shape
    WHERE q.removed_in IS NULL AND q.slots IS NOT NULL
    GROUP BY q.id, q.slots
    HAVING sum(s.cores) > q.slots
) wrong;
