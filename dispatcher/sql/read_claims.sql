-- Claims that have changed since a daemon read them, and some by id, with the snapshot to read on from next time. What the
-- former snapshot saw was read then: while a transaction stays open for long, only what is new comes. At least one row comes
-- for the snapshot, with id 0 where nothing has changed.
SELECT coalesce(c.id, 0) AS id, coalesce(c.task_id, 0) AS task_id, coalesce(c.key, '') AS key, coalesce(c.template, '{}') AS template,
    coalesce(c.state, '') AS state, coalesce(c.queue_id, 0) AS queue_id, coalesce(q.name, '') AS queue, coalesce(c.node, '') AS node,
    coalesce(c.devices, '[]') AS devices, coalesce(c.sharers, 0) AS sharers, coalesce(c.charge_id, 0) AS charge_id, s.upto
FROM (SELECT pg_current_snapshot()::text AS upto) s
LEFT JOIN resource_claims c ON c.changed >= pg_snapshot_xmin(@since::text::pg_snapshot)
    AND NOT pg_visible_in_snapshot(c.changed, @since::text::pg_snapshot) AND (c.state <> 'released' OR NOT @first::boolean)
LEFT JOIN queues q ON q.id = c.queue_id
UNION ALL
SELECT c.id, c.task_id, c.key, c.template, c.state, c.queue_id, coalesce(q.name, ''), c.node, c.devices, c.sharers, c.charge_id, NULL
FROM resource_claims c
LEFT JOIN queues q ON q.id = c.queue_id
WHERE c.id = ANY (@ids::bigint[]);
