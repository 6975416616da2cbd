-- One claim, over or not.
SELECT c.id, c.task_id, c.key, c.template, c.linger_s, c.state, coalesce(q.name, '') AS queue, c.node, c.devices, c.bound_at, c.sharers,
    c.idle_since, c.created_at, c.ended_at
FROM resource_claims c
LEFT JOIN queues q ON q.id = c.queue_id
WHERE c.id = @id::bigint;
