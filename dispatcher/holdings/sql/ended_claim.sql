-- A claim that is over and still kept.
SELECT c.id, c.task, c.key, c.queue, c.node, c.devices, c.missing, c.made_at, c.ended_at, c.template
FROM claims c WHERE c.id = @id::bigint AND c.state = 'released';
