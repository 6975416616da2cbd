-- Claims by id, behind a cursor: those that are not over, or those in one state. Who asks says which columns count: what it
-- leaves out is folded away when the statement is planned.
SELECT c.id, c.task_id, c.key, c.template, c.linger_s, c.state, coalesce(q.name, '') AS queue, c.node, c.devices, c.bound_at, c.sharers,
    c.idle_since, c.created_at, c.ended_at
FROM resource_claims c
LEFT JOIN queues q ON q.id = c.queue_id
WHERE c.id > @after::bigint
    AND (@state::text <> '' OR c.state <> 'released') AND (@state::text = '' OR c.state = @state::text)
    AND (@task::bigint = 0 OR c.task_id = @task::bigint)
    AND (@node::text = '' OR c.node = @node::text)
    AND (@resource::text = '' OR c.template -> 'resources' ? @resource::text)
ORDER BY c.id
LIMIT @n::int;
