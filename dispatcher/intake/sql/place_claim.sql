-- A locked claim is where people say, and the log is told.
WITH said AS (
    INSERT INTO outbox (entries) VALUES (@entries::jsonb) RETURNING id
)
UPDATE claim_keys c SET queue_id = @queue::int, node = @node::text, devices = @devices::text[], max_sharers = @max_sharers::int, said = s.id
FROM said s
WHERE c.id = @id::bigint;
