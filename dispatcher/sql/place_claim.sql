-- A locked claim that people make is bound where they say; jobs that waited for it are given the shape that says so. A
-- device that another claim has is a unique violation.
WITH taken AS (
    INSERT INTO claim_devices (queue_id, node, device, claim_id)
    SELECT @queue::int, @node::text, d.device, @id::bigint FROM unnest(@devices::text[]) AS d (device) ORDER BY d.device
)
UPDATE resource_claims SET state = 'bound', queue_id = @queue::int, node = @node::text, devices = to_jsonb(@devices::text[]),
    template = @template::jsonb, bound_at = now(), unplaced = true, placed_to = 0, changed = pg_current_xact_id()
WHERE id = @id::bigint AND state = 'pending';
