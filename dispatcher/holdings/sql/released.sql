-- A page of claims that are over and still kept.
SELECT c.id, c.task, c.key, c.queue, c.node, c.devices, c.missing, c.made_at, c.ended_at, c.template
FROM claims c
WHERE c.state = 'released' AND c.id > @after::bigint AND (@task::bigint = 0 OR c.task = @task::bigint) AND (@node::text = '' OR c.node = @node::text)
    AND (@resource::text = '' OR c.template -> 'Resources' ? @resource::text)
ORDER BY c.id LIMIT @n::int;
