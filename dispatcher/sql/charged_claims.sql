-- Claims that hold units of resources, by id.
SELECT c.id, c.task_id, c.key, c.charge_id, c.share_id, e.key AS ref, e.value::bigint AS units, coalesce(q.name, '') AS queue, c.node, c.sharers
FROM resource_claims c
JOIN shapes s ON s.id = c.charge_id
CROSS JOIN LATERAL jsonb_each_text(s.resources) e
LEFT JOIN queues q ON q.id = c.queue_id
WHERE c.state <> 'released' AND c.state <> 'pending' AND e.key = ANY (@refs::text[])
ORDER BY c.id
LIMIT @n::int;
