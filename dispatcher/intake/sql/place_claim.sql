-- A locked claim is where people say.
UPDATE claim_keys SET queue_id = @queue::int, node = @node::text, devices = @devices::text[], max_sharers = @max_sharers::int
WHERE id = @id::bigint;
