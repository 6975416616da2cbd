-- The leases of jobs.
SELECT h.job, h.attempt, h.nonce, h.start_delay_ms, coalesce(q.name, '') AS queue
FROM unnest(@jobs::bigint[]) AS k (job)
CROSS JOIN LATERAL (SELECT i.* FROM held i WHERE i.job = k.job LIMIT 1) h
LEFT JOIN queues q ON q.id = h.queue;
