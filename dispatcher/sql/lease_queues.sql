-- The queues at which these leases are. Leases that are over have none; a queue that went from the site keeps its row.
SELECT l.job_id, l.nonce, coalesce(q.name, '') AS queue
FROM leases l LEFT JOIN queues q ON q.id = l.queue_id
WHERE l.job_id = ANY (@jobs::bigint[]) AND l.nonce = ANY (@nonces::bigint[]);
