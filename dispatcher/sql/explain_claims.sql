-- The claims of a job, with the first of those that hold each.
SELECT c.id, c.task_id, c.key, c.template, c.linger_s, c.state, coalesce(q.name, '') AS queue, c.node, c.devices, c.bound_at, c.sharers,
    c.idle_since, c.created_at, c.ended_at,
    CASE WHEN c.sharers > 0 THEN ARRAY(SELECT j.id FROM jobs j JOIN leases l ON l.job_id = j.id WHERE j.claims @> ARRAY[c.id] LIMIT 4)
        ELSE '{}' END AS held_by, now() AS now
FROM resource_claims c
LEFT JOIN queues q ON q.id = c.queue_id
WHERE c.id = ANY (@ids::bigint[])
ORDER BY array_position(@ids::bigint[], c.id);
