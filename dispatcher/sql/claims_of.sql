-- Claims by id: what a lease is told of them.
SELECT c.id, c.task_id, c.key, c.template, c.state, c.queue_id, coalesce(q.name, '') AS queue, c.node, c.devices, c.sharers, c.charge_id, NULL::text AS upto
FROM resource_claims c
LEFT JOIN queues q ON q.id = c.queue_id
WHERE c.id = ANY (@ids::bigint[])
ORDER BY c.id;
