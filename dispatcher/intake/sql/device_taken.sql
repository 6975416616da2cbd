-- Another claim that people made with one of the devices of a node.
SELECT d.device, c.key
FROM claim_keys c CROSS JOIN LATERAL unnest(c.devices) AS d (device)
WHERE c.task_id = 0 AND c.queue_id = @queue::int AND c.node = @node::text AND c.id <> @id::bigint AND d.device = ANY (@devices::text[])
    AND NOT EXISTS (SELECT FROM outbox o WHERE o.id = c.said AND o.refused IS NOT NULL)
LIMIT 1;
