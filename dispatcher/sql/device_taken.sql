-- The claim that has one of these devices of a node.
SELECT d.device, c.id, c.key
FROM claim_devices d JOIN resource_claims c ON c.id = d.claim_id
WHERE d.queue_id = @queue::int AND d.node = @node::text AND d.device = ANY (@devices::text[])
ORDER BY d.device LIMIT 1;
