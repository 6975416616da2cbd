-- Leases that queues still have. Exact, because grants are held back meanwhile.
SELECT l.queue_id, count(*) AS leases
FROM leases AS l
WHERE l.queue_id = ANY (@ids::int[])
GROUP BY l.queue_id
