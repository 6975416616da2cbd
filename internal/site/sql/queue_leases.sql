-- Leases that queues still have, as of the last fold.
SELECT c.queue AS queue_id, sum(c.held)::bigint AS leases
FROM share_counts AS c
WHERE c.queue = ANY (@ids::int[]) AND c.held > 0
GROUP BY c.queue
