-- What the jobs that run at some nodes take, by pilot.
SELECT l.queue_id, l.node, l.pilot, count(*)::bigint AS jobs, sum(l.cores)::bigint AS cores, sum(s.memory_mb)::bigint AS memory_mb,
    sum(s.disk_mb)::bigint AS disk_mb
FROM unnest(@queues::int[], @nodes::text[]) AS n (queue_id, node)
JOIN leases l ON l.queue_id = n.queue_id AND l.node = n.node
JOIN shapes s ON s.id = l.shape_id
GROUP BY l.queue_id, l.node, l.pilot;
